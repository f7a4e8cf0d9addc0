// The pump's job done with the official TypeScript client: subscribe, read each resource that is updated, print a line.
// Started in a folder where the package is installed: node client.mjs URL URI…
// What the library leaves to its user is done as plainly as it can be: when its stream is given up for good, or the
// server does not know the session any more, a new client is made, every second until that works.
import { createRequire } from 'node:module';

const require = createRequire(`${process.cwd()}/`);
const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
const { StreamableHTTPClientTransport } = require('@modelcontextprotocol/sdk/client/streamableHttp.js');
const { ResourceUpdatedNotificationSchema } = require('@modelcontextprotocol/sdk/types.js');

const [url, ...uris] = process.argv.slice(2);
const say = (stream, event, fields) =>
  stream.write(`${JSON.stringify({ ts: new Date().toISOString(), event, ...fields })}\n`);

async function listen() {
  const client = new Client({ name: 'listen-typescript', version: '1.0.0' });
  const transport = new StreamableHTTPClientTransport(new URL(url));
  let over = false;
  const renew = () => {
    if (over) return;
    over = true;
    client.close().catch(() => {});
    setTimeout(begin, 1000);
  };
  client.onclose = renew;
  client.onerror = error => {
    say(process.stderr, 'error', { message: String(error.message) });
    if (error.code === 404 || /Maximum reconnection attempts|404|Session not found/.test(error.message)) renew();
  };
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, async ({ params: { uri } }) => {
    await client.readResource({ uri }).catch(() => {});
    say(process.stdout, 'resource_updated', { uri });
  });
  try {
    await client.connect(transport);
    for (const uri of uris) {
      await client.subscribeResource({ uri });
      say(process.stderr, 'subscribed', { uri });
    }
  } catch (error) {
    say(process.stderr, 'error', { message: String(error.message) });
    renew();
  }
}

function begin() {
  listen().catch(() => setTimeout(begin, 1000));
}
begin();
