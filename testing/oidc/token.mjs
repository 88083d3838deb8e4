// Logs in at the provider without a browser, and prints the ID token: node token.mjs ISSUER ACCOUNT [CLIENT]
//
// It does what a command-line login does: the code flow with PKCE, with redirects, forms and cookies.

import { createHash, randomBytes } from "node:crypto";

const [, , issuer, name, client = "towpath"] = process.argv;
const redirect = "http://127.0.0.1/login";
const cookies = new Map();

async function send(address, init = {}) {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const answer = await fetch(address, { ...init, redirect: "manual", headers: { ...init.headers, cookie } });
  for (const set of answer.headers.getSetCookie()) {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(set);
    cookies.set(name, value);
  }
  return answer;
}

const verifier = randomBytes(32).toString("base64url");
const words = new URLSearchParams({
  response_type: "code",
  client_id: client,
  redirect_uri: redirect,
  scope: "openid email",
  state: "state",
  nonce: randomBytes(16).toString("base64url"),
  code_challenge: createHash("sha256").update(verifier).digest("base64url"),
  code_challenge_method: "S256",
});
const form = (fields) => ({ method: "POST", headers: { "content-type": "application/x-www-form-urlencoded" }, body: new URLSearchParams(fields) });
let address = `${issuer}/auth?${words}`;
let code;
for (let hop = 0; hop < 12 && !code; hop += 1) {
  let answer = await send(address);
  if (answer.status === 200) {
    const prompt = /name="prompt" value="([a-z]+)"/.exec(await answer.text())?.[1];
    answer = await send(address, form({ prompt, login: name, password: "any" }));
  }
  const to = answer.headers.get("location");
  if (!to) throw new Error(`${address}: ${answer.status} ${await answer.text()}`);
  address = new URL(to, address).href;
  code = address.startsWith(redirect) ? new URL(address).searchParams.get("code") : undefined;
  if (address.startsWith(redirect) && !code) throw new Error(address);
}
const { token_endpoint } = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
const answer = await send(token_endpoint, form({ grant_type: "authorization_code", code, redirect_uri: redirect, client_id: client, code_verifier: verifier }));
const told = await answer.json();
if (!told.id_token) throw new Error(JSON.stringify(told));
console.log(told.id_token);
