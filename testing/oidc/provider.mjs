// A real OIDC provider for tests: node provider.mjs PAGE…, with the addresses of the pages that may log in.
//
// It prints one line of JSON once it listens: its issuer. A line on its input is a command, and is answered by one line:
//   rotate           signs with a new key from now on, and publishes that one alone
//   page ADDRESS     this page may log in too
//   sign CLAIMS      a token with these claims (JSON), signed with its key: one that ended, or is for somebody else
//
// Anybody logs in with any password. The name is the account: ada@example.com. The words before the @, with hyphens between
// them, are its groups. The email of `unverified@…` is not verified.

import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { importJWK, SignJWT } from "jose";
import { interactionPolicy, Provider } from "oidc-provider";

const pages = new Set(process.argv.slice(2));
let key = newKey();
let callback = (request, response) => response.end();

function newKey() {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { ...privateKey.export({ format: "jwk" }), kid: randomUUID(), use: "sig", alg: "RS256" };
}

async function signed(claims) {
  const token = new SignJWT(claims).setProtectedHeader({ alg: key.alg, kid: key.kid });
  return token.sign(await importJWK(key));
}

function account(_, id) {
  const name = id.split("@")[0];
  return {
    accountId: id,
    claims: () => ({ sub: `subject-of-${name}`, email: id, email_verified: !name.startsWith("unverified"), groups: name.split("-") }),
  };
}

/** Nobody is asked to consent, although native clients usually are. */
function withoutConsent() {
  const policy = interactionPolicy.base();
  policy.get("consent").checks.remove("native_client_prompt");
  return policy;
}

function begin() {
  const redirects = [...pages].map((page) => `${page}/login`);
  const client = (client_id, redirect_uris) => ({
    client_id,
    redirect_uris,
    application_type: "native",
    token_endpoint_auth_method: "none",
    grant_types: ["authorization_code"],
    response_types: ["code"],
  });
  const provider = new Provider(issuer, {
    clients: [client("towpath", ["http://127.0.0.1/login", ...redirects]), client("other", ["http://127.0.0.1/login"])],
    claims: { openid: ["sub"], email: ["email", "email_verified", "groups"] },
    conformIdTokenClaims: false,
    jwks: { keys: [key] },
    cookies: { keys: ["for tests"] },
    findAccount: account,
    interactions: { policy: withoutConsent() },
    features: { devInteractions: { enabled: true } },
    ttl: {
      IdToken: 3600,
      Grant: 3600,
      Interaction: 3600,
      Session: 3600,
      AccessToken: 3600,
      AuthorizationCode: 60,
    },
    // What a client asks for is granted.
    async loadExistingGrant(context) {
      const grant = new context.oidc.provider.Grant({ clientId: context.oidc.client.clientId, accountId: context.oidc.session.accountId });
      grant.addOIDCScope("openid email profile");
      await grant.save();
      return grant;
    },
  });
  callback = provider.callback();
}

const server = createServer((request, response) => callback(request, response));
await new Promise((listening) => server.listen(Number(process.env.TOWPATH_OIDC_PORT ?? 0), "127.0.0.1", listening));
const issuer = `http://127.0.0.1:${server.address().port}`;
begin();
const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
say({ issuer });
for await (const line of createInterface({ input: process.stdin })) {
  const [, command, word] = /^(\S+) ?(.*)$/.exec(line);
  let token;
  if (command === "rotate") key = newKey();
  else if (command === "page") pages.add(word);
  else if (command === "sign") token = await signed(JSON.parse(word));
  else throw new Error(`${line}: not a command`);
  if (command !== "sign") begin();
  say({ done: command, key: key.kid, token });
}
// Whoever started it has gone.
process.exit(0);
