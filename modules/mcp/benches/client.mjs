// Calls one tool by the official TypeScript client: client.mjs URL CALLS PEERS. Prints calls a second.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [url, calls, peers] = process.argv.slice(2);
const from = createRequire(`${peers}/package.json`);
const load = (name) => import(pathToFileURL(from.resolve(name)).href);
const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = await load("@modelcontextprotocol/sdk/client/streamableHttp.js");

const client = new Client({ name: "bench", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
await client.listTools();
const call = () => client.callTool({ name: "search", arguments: { query: "Acme" } });
for (let made = 0; made < 100; made++) await call();
const start = performance.now();
for (let made = 0; made < Number(calls); made++) await call();
console.log(Math.round(Number(calls) / ((performance.now() - start) / 1000)));
process.exit(0);
