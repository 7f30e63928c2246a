// Reads the WACZ file that the first argument names with the engine of ReplayWeb.page, and prints as JSON the addresses of
// its list of pages, and status, type and text of each record of its index. The second argument is node_modules.
import fs from "node:fs";
import { pathToFileURL } from "node:url";

const [name, modules] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${modules}/${path}`).href);

// The engine runs in browsers, as a service worker. These stand in for what it needs there.
await load("fake-indexeddb/auto/index.mjs");
globalThis.self = globalThis;
globalThis.location = new URL("http://localhost/");
self.addEventListener ??= () => {};
self.postMessage ??= () => {};
self.registration ??= { scope: "http://localhost/" };
console.log = () => {};

// The engine requests parts of the file.
const file = fs.readFileSync(name);
globalThis.fetch = async (request, options = {}) => {
  const headers = new Headers(options.headers || request.headers);
  const range = /bytes=(\d*)-(\d*)/.exec(headers.get("range") || "");
  if (!range) {
    const body = options.method === "HEAD" ? null : file;
    return new Response(body, { headers: { "Content-Length": file.length, "Accept-Ranges": "bytes" } });
  }
  const from = range[1] === "" ? file.length - Number(range[2]) : Number(range[1]);
  const last = range[1] === "" || range[2] === "" ? file.length - 1 : Math.min(Number(range[2]), file.length - 1);
  return new Response(file.subarray(from, last + 1), {
    status: 206,
    headers: { "Content-Range": `bytes ${from}-${last}/${file.length}`, "Content-Length": last - from + 1 },
  });
};

const { WorkerLoader } = await load("@webrecorder/wabac/dist/swlib.js");
const loader = new WorkerLoader(self);
await loader._init_db;
const url = "http://localhost/file.wacz";
const problems = [];
await loader.addCollection({ name: "test", file: { sourceUrl: url, loadUrl: url } }, (...said) => problems.push(said));
const { store } = await loader.loadColl("test");
const pages = (await store.getAllPages()).map((page) => page.url).sort();
await store.loadIndex(Object.keys(store.waczfiles)[0]);
const records = [];
for (const row of await store.db.transaction("resources").store.getAll()) {
  const payload = await store.loadPayload(row, {});
  const body = payload instanceof Uint8Array ? payload : await payload.readFully();
  records.push({ url: row.url, status: row.status, mime: row.mime, text: new TextDecoder().decode(body) });
}
process.stdout.write(JSON.stringify({ pages, records, problems }), () => process.exit(0));
