// A receiver of pixd's webhooks. It verifies each signature with the npm package
// standardwebhooks, works on each event once, and prints a line for it.
//
//   node receiver.mjs whsec_…        listens on 127.0.0.1:9099; PORT=… for another port

import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.argv[2]);
const seen = new Set(); // ids of the events that were worked on; a real receiver keeps them in its database

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    let event;
    try {
      // The signature is over the bytes as they came: they must not be parsed and printed again.
      event = webhook.verify(Buffer.concat(chunks).toString(), request.headers);
    } catch (error) {
      console.log("refused:", error.message);
      response.writeHead(400).end();
      return;
    }
    const again = seen.has(event.id) ? " (again)" : "";
    seen.add(event.id);
    console.log(event.type, event.sequence, event.data.amount, event.data.payer_document ?? "-", `verified${again}`);
    response.writeHead(204).end();
  });
});

server.listen(Number(process.env.PORT ?? 9099), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}/`);
});
