// A charge, a payout, the pages of the statement, a refund, and the webhooks of all of them, with nothing but
// what Node.js brings (18 or later). The exit code is 0 only if everything went as it should.
//
//   node tour.mjs      (the variables that it reads are in ../README.md)

import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";

const env = process.env;
const api = (env.PIXD_URL ?? "http://127.0.0.1:8080") + "/api/external";
const admin = env.PIXD_ADMIN ?? "http://127.0.0.1:8081";
const hookAddress = env.PIXD_HOOK ?? "127.0.0.1:9098";
const run = randomUUID().slice(0, 13); // makes the names of this run new ones

for (const name of ["PIXD_CLIENT_ID", "PIXD_CLIENT_SECRET", "PIXD_ADMIN_TOKEN"]) {
  if (!env[name]) throw new Error(`${name} is not set: ../README.md says which variables are needed`);
}

function must(holds, what) {
  if (!holds) throw new Error(`not so: ${what}`);
}

async function send(method, url, body, headers) {
  const answer = await fetch(url, { method, body, headers: { "Content-Type": "application/json", ...headers }, signal: AbortSignal.timeout(30_000) });
  const text = await answer.text();
  must(answer.ok, `${url}: ${answer.status} ${text}`);
  return { ...JSON.parse(text), headers: answer.headers };
}

// sorted returns a value with the keys of every object in alphabetical order.
function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
}

// sign returns the header hmac of a body whose keys are in alphabetical order.
function sign(secret, body) {
  return createHmac("sha512", secret).update(body).digest("hex");
}

function call(method, path, fields, idempotencyKey) {
  const headers = { Authorization: `ApiKey ${env.PIXD_CLIENT_ID}:${env.PIXD_CLIENT_SECRET}` };
  if (method !== "POST") return send(method, api + path, undefined, headers);
  const body = Buffer.from(JSON.stringify(sorted(fields))); // these very bytes are signed and sent
  headers.hmac = sign(env.PIXD_CLIENT_SECRET, body);
  if (idempotencyKey) headers["Idempotency-Key"] = idempotencyKey;
  return send(method, api + path, body, headers);
}

// payAsCustomer pays a charge in the simulator: a sandbox has this, and a merchant's program does not.
function payAsCustomer(qrCode) {
  return send("POST", admin + "/sim/payments", JSON.stringify({ qr_code: qrCode }), { Authorization: `Bearer ${env.PIXD_ADMIN_TOKEN}` });
}

// verified tells whether the engine signed a webhook, within the last five minutes.
function verified(secret, headers, body) {
  const timestamp = headers["webhook-timestamp"] ?? "";
  if (!/^\d+$/.test(timestamp) || Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return false;
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const mac = createHmac("sha256", key).update(`${headers["webhook-id"]}.${timestamp}.`).update(body).digest("base64");
  const want = Buffer.from(`v1,${mac}`);
  const signatures = (headers["webhook-signature"] ?? "").split(" "); // two after a change of the secret
  return signatures.map((s) => Buffer.from(s)).some((s) => s.length === want.length && timingSafeEqual(s, want));
}

const seen = new Set(); // a real receiver keeps the ids of events that it has seen in its database
const events = [];
let secret = ""; // known once the subscription is made
let arrived = () => {};

const server = createServer(async (request, response) => {
  const chunks = [];
  let length = 0;
  try {
    for await (const chunk of request) {
      if ((length += chunk.length) > 1 << 20) return request.destroy(); // no event is as long
      chunks.push(chunk);
    }
  } catch {
    return response.destroy(); // whoever sent it went away
  }
  const body = Buffer.concat(chunks); // the bytes as they came: they must not be parsed and printed again
  if (!secret || !verified(secret, request.headers, body)) return response.writeHead(400).end();
  if (!seen.has(request.headers["webhook-id"])) {
    seen.add(request.headers["webhook-id"]);
    events.push(JSON.parse(body));
    arrived();
  }
  response.writeHead(204).end();
});

// eventOf waits for the event of a transaction.
async function eventOf(kind, transactionID) {
  const over = Date.now() + 20_000;
  for (;;) {
    const event = events.find((e) => e.type === kind && e.data.transaction_id === transactionID);
    if (event) return event.data;
    must(Date.now() < over, `${kind} came for ${transactionID}`);
    await new Promise((resolve) => { arrived = resolve; setTimeout(resolve, 1000); });
  }
}

// statement returns the transaction ids of all movements: the last page has fewer than a whole one.
async function statement() {
  const ids = [];
  for (let page = 1; ; page++) {
    const { data } = await call("GET", `/statement?per_page=5&page=${page}`);
    ids.push(...data.map((movement) => movement.transaction_id));
    if (data.length < 5) return ids;
  }
}

const [host, port] = hookAddress.split(":");
server.listen(Number(port), host);
await once(server, "listening");
const hook = await call("POST", "/webhooks", { url: `http://${hookAddress}/`, events: ["pix.charge.paid", "pix.payout.confirmed", "pix.refund.completed"] });
secret = hook.secret;
console.log("subscribed", hook.id);
const forged = { "webhook-id": "evt_x", "webhook-timestamp": String(Math.floor(Date.now() / 1000)), "webhook-signature": "v1,Zm9yZ2Vk" };
must(!verified(secret, forged, "{}"), "a forged webhook is refused");

const charge = await call("POST", "/pix/cash-in", { amount: 2500, description: "2 cafés <já> ☕", external_id: `order-${run}` });
await payAsCustomer(charge.qr_code);
const paid = await eventOf("pix.charge.paid", charge.transaction_id);
must(paid.status === "completed" && paid.amount === 250000, "the charge is completed");
console.log("charge paid", paid.transaction_id, paid.amount);

const order = { amount: 1000, pix_key: `supplier+${run}@example.com`, external_id: `bill-${run}` };
const payout = await call("POST", "/pix/cash-out", order, `payout-${run}`);
const again = await call("POST", "/pix/cash-out", order, `payout-${run}`);
must(again.transaction_id === payout.transaction_id && again.headers.get("X-Idempotent-Replay") === "true", "the repeat pays nothing");
await eventOf("pix.payout.confirmed", payout.transaction_id);
console.log("payout settled", payout.transaction_id, payout.amount);

const moved = await statement();
must(moved.includes(charge.transaction_id) && moved.includes(payout.transaction_id), "both are in the statement");
console.log("statement read", moved.length, "movements");

const refund = await call("POST", "/pix/refund", { original_transaction_id: charge.transaction_id, amount: 500 }, `refund-${run}`);
const given = await eventOf("pix.refund.completed", refund.transaction_id);
must(given.status === "settled" && given.remaining_refundable === 200000, "the refund settles");
console.log("refund settled", refund.transaction_id, refund.amount);
await call("DELETE", `/webhooks/${hook.id}`);
process.exit(0);
