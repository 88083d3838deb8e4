// For whoever works on the page: serves dist/ as towpath does, builds again when src/ changes, and passes
// everything else on to a running towpath. TOWPATH names it, PORT is where to listen.
//
//   TOWPATH=http://127.0.0.1:8080 PORT=5173 npm run dev

import { createReadStream } from "node:fs";
import { access } from "node:fs/promises";
import { createServer, request } from "node:http";
import { fileURLToPath } from "node:url";
import path from "node:path";
import { context } from "esbuild";
import { clean, finish, options } from "./build.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const service = new URL(process.env.TOWPATH ?? "http://127.0.0.1:8080");
const port = Number(process.env.PORT ?? 5173);
const types = { ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html" };
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const dist = path.join(here, "dist");
await clean(dist);
const builder = await context({
  ...options,
  outdir: path.join(dist, "assets"),
  plugins: [{ name: "page", setup: (build) => build.onEnd((result) => result.metafile && finish(result.metafile, dist)) }],
});
if (process.env.ONCE) await builder.rebuild();
else await builder.watch();

createServer(async (incoming, answer) => {
  const { pathname } = new URL(incoming.url, "http://page");
  if (/^\/(api|readyz|livez|metrics)\b/.test(pathname)) return forward(incoming, answer);
  const file = path.join(here, "dist", path.normalize(pathname));
  const found = pathname.startsWith("/assets/") && (await access(file).then(() => true, () => false));
  const sent = found ? file : path.join(here, "dist/index.html");
  if (pathname.startsWith("/assets/") && !found) return answer.writeHead(404).end();
  answer.writeHead(200, {
    "content-type": `${types[path.extname(sent)]}; charset=utf-8`,
    "content-security-policy": policy,
    "cache-control": "no-store",
  });
  createReadStream(sent).pipe(answer);
}).listen(port, "127.0.0.1", () => console.log(`http://127.0.0.1:${port} in front of ${service.origin}`));

function forward(incoming, answer) {
  const onward = request(
    new URL(incoming.url, service),
    { method: incoming.method, headers: { ...incoming.headers, host: service.host } },
    (reply) => {
      answer.writeHead(reply.statusCode, reply.headers);
      reply.pipe(answer);
    },
  );
  onward.on("error", () => {
    if (!answer.headersSent) answer.writeHead(502, { "content-type": "application/json" });
    answer.end();
  });
  answer.on("close", () => onward.destroy());
  incoming.pipe(onward);
}
