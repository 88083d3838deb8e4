// Builds the page: src/ → dist/. Two runs give the same bytes, so dist/ can be committed and compared.
//
// One script, one style sheet, one icon, each named by its content; index.html, which names them; and files.rs, by which the
// service includes them all.
//
//   node build.mjs [FOLDER]     where to; dist/ if it is not said

import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import path from "node:path";
import { build } from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));

/** What esbuild is told, for the build and for `dev.mjs`. */
export const options = {
  absWorkingDir: here,
  entryPoints: { page: "src/main.tsx" },
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "none",
  entryNames: "[name]-[hash]",
  metafile: true,
  logLevel: "warning",
  // The directory of the checkout must not be part of a hash.
  sourcemap: false,
};

/** Writes index.html, the icon and files.rs beside what esbuild has written. */
export async function finish(metafile, folder) {
  const outputs = Object.keys(metafile.outputs).map((name) => path.basename(name));
  const script = outputs.find((name) => name.endsWith(".js"));
  const style = outputs.find((name) => name.endsWith(".css"));
  const icon = await readFile(path.join(here, "src/icon.svg"));
  const iconName = `icon-${createHash("sha256").update(icon).digest("hex").slice(0, 8).toUpperCase()}.svg`;
  await writeFile(path.join(folder, "assets", iconName), icon);
  const template = await readFile(path.join(here, "src/index.html"), "utf8");
  const html = template.replace("SCRIPT", script).replace("STYLE", style).replace("ICON", iconName);
  await writeFile(path.join(folder, "index.html"), html);
  await writeFile(path.join(folder, "files.rs"), await list(folder));
}

/** What the service includes: each file with its name, in order. */
async function list(folder) {
  const assets = (await readdir(path.join(folder, "assets"))).map((name) => `assets/${name}`);
  const lines = [...assets, "index.html"].sort().map((name) => `    ("${name}", include_bytes!("${name}")),\n`);
  return `// Every file of the page, written by ui/build.mjs.\n&[\n${lines.join("")}]\n`;
}

export async function clean(folder) {
  await rm(folder, { recursive: true, force: true });
  await mkdir(path.join(folder, "assets"), { recursive: true });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = path.resolve(process.argv[2] ?? path.join(here, "dist"));
  await clean(folder);
  const result = await build({ ...options, outdir: path.join(folder, "assets") });
  await finish(result.metafile, folder);
  for (const [name, output] of Object.entries(result.metafile.outputs)) {
    console.log(`${path.basename(name)}  ${output.bytes} bytes`);
  }
}
