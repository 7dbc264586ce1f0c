// Uses the types that openapi-typescript has made of the API's description: client.mjs URL DOCUMENT. Writes what it has seen as
// JSON.

import { readFile } from "node:fs/promises";
import { argv, stdout } from "node:process";
import createClient from "openapi-fetch";
import type { paths } from "./dayone.js";

const [, , baseUrl, document] = argv;
const client = createClient<paths>({ baseUrl: baseUrl ?? "" });

// YAML goes out as it is; openapi-fetch would make JSON of it.
const yaml = { bodySerializer: String, headers: { "Content-Type": "application/yaml" } };

const bases = await client.GET("/v1/bases");
if (bases.error) throw new Error(bases.error.detail);

const body = await readFile(document ?? "", "utf8");
const check = await client.POST("/v1/check", { body, ...yaml });
if (check.error) throw new Error(check.error.detail);

const image = await client.POST("/v1/images", { params: { query: { base: "coreos" } }, body, ...yaml });
if (image.error) throw new Error(image.error.detail);
// With another `Accept`, the answer would be the image itself.
if (typeof image.data === "string") throw new Error("not JSON");
// With hosts=all, the answer is about several images.
if (!("id" in image.data)) throw new Error("not an image");

const refused = "interfaces: [{name: eth0, type: ethernet, ipv4: {enabled: true, address: [{ip: 300.1.1.1, prefix-length: 24}]}}]";
const problem = await client.POST("/v1/images", { params: { query: { base: "coreos" } }, body: refused, ...yaml });
if (!problem.error) throw new Error("no problem");

const seen = {
  bases: bases.data.bases.map((base) => [base.name, base.state]),
  hosts: check.data.hosts.map((host) => host.name ?? null),
  image: { id: image.data.id, url: image.data.url ?? null },
  problem: { type: problem.error.type, codes: problem.error.findings?.map((finding) => finding.code) },
};
stdout.write(JSON.stringify(seen));
