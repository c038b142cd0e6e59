// An OpenID Connect issuer on this machine: the library `oidc-provider`, at which people sign in by their name alone, and which
// can be told to answer wrongly.
//
// Environment: MODULES, a folder with oidc-provider; REDIRECT, where people are led back; SECRET, the client's secret;
// PEOPLE, JSON with the claims of each person by name. Prints its URL. `GET /as?person=NAME` says who signs in next;
// `GET /wrong?way=WAY` says what is wrong with the next tokens; `GET /rotate` replaces the keys.

import { createRequire } from "node:module";
import { createServer } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { generateKeyPairSync, createHmac, randomUUID } from "node:crypto";

const { MODULES, REDIRECT, SECRET, PEOPLE } = process.env;
const require = createRequire(join(MODULES, "x.js"));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { default: Provider } = await load("oidc-provider");
const { SignJWT, importJWK, decodeJwt } = await load("jose");

const people = JSON.parse(PEOPLE);
let person = Object.keys(people)[0];
let way = "";
let keys = [newKey()];

function newKey() {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { ...privateKey.export({ format: "jwk" }), kid: randomUUID(), use: "sig", alg: "RS256" };
}

function publicKeys() {
  return { keys: keys.map(({ kty, n, e, kid, use, alg }) => ({ kty, n, e, kid, use, alg })) };
}

const server = createServer();
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const origin = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(origin, {
  clients: [{ client_id: "assay", client_secret: SECRET, redirect_uris: [REDIRECT] }],
  jwks: { keys },
  claims: { openid: ["sub"], profile: ["preferred_username", "groups", "org"], email: ["email", "email_verified"] },
  conformIdTokenClaims: false,
  pkce: { required: () => true, methods: ["S256"] },
  features: { devInteractions: { enabled: false } },
  cookies: { keys: [randomUUID()] },
  findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, ...people[id] }) }),
  interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
  async loadExistingGrant({ oidc }) {
    const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
    grant.addOIDCScope("openid profile email");
    await grant.save();
    return grant;
  },
  ttl: { Session: 60, Interaction: 60, Grant: 60, AccessToken: 60, IdToken: 60 },
});
const callback = provider.callback();

// Returns the token as this issuer signs it now, wrong in the way that was asked for.
async function token(given) {
  const [key] = keys;
  const now = Math.floor(Date.now() / 1000);
  const claims = decodeJwt(given);
  const changes = {
    issuer: { iss: "http://127.0.0.1:1" },
    audience: { aud: "another-program" },
    "authorized party": { azp: "another-program" },
    "two audiences": { aud: ["assay", "another-program"] },
    "two audiences of this client": { aud: ["assay", "another-program"], azp: "assay" },
    "not yet valid": { nbf: now + 3600 },
    nonce: { nonce: "of another sign-in" },
    "no nonce": { nonce: undefined },
    expired: { exp: now - 1 },
    old: { iat: now - 3600 },
    future: { iat: now + 3600 },
  };
  const body = { ...claims, ...changes[way] };
  const header = { alg: "RS256", kid: key.kid };
  if (way === "unsigned") {
    const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
    return `${part({ alg: "none" })}.${part(body)}.`;
  }
  if (way === "symmetric") {
    // A verifier that takes the public key for a secret would accept this.
    const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const signed = `${part({ alg: "HS256", kid: key.kid })}.${part(body)}`;
    return `${signed}.${createHmac("sha256", SECRET).update(signed).digest("base64url")}`;
  }
  const signing = way === "stranger's key" ? { ...newKey(), kid: key.kid } : key;
  return new SignJWT(body).setProtectedHeader(header).sign(await importJWK(signing, "RS256"));
}

function json(response, value) {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
}

server.on("request", async (request, response) => {
  const url = new URL(request.url, origin);
  if (url.pathname === "/as") {
    person = url.searchParams.get("person");
    return response.end();
  }
  if (url.pathname === "/wrong") {
    way = url.searchParams.get("way");
    return response.end();
  }
  if (url.pathname === "/rotate") {
    keys = [newKey()];
    return response.end();
  }
  if (url.pathname === "/jwks") return json(response, publicKeys());
  if (url.pathname.startsWith("/interaction/")) {
    const result = person ? { login: { accountId: person } } : { error: "access_denied" };
    return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
  }
  if (url.pathname === "/token") {
    // The answer of the library with a token that is signed anew.
    const parts = [];
    const end = response.end.bind(response);
    response.write = (part) => (parts.push(Buffer.from(part)), true);
    response.end = async (part) => {
      if (part) parts.push(Buffer.from(part));
      const body = JSON.parse(Buffer.concat(parts).toString());
      if (body.id_token) body.id_token = await token(body.id_token);
      if (way === "no token") delete body.id_token;
      const text = JSON.stringify(body);
      response.setHeader("content-length", Buffer.byteLength(text));
      end(text);
    };
  }
  callback(request, response);
});

console.log(origin);
