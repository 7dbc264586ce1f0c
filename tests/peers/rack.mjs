// Boots the rack from dayone's page, as a person at a browser does: logs in, drops the documents, and confirms.
//
//   node rack.mjs MODULES URL TOKEN DOCUMENTS KERNEL-ARGUMENTS
import assert from "node:assert/strict";

import { launch } from "./browser.mjs";

const [modules, url, token, documents, kernelArguments] = process.argv.slice(2);

const browser = await launch(modules);
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  const errors = [];
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.goto(url);
  await page.getByLabel("API token").fill(token);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.locator("summary").click();
  await page.setInputFiles("#files", documents);
  await page.getByText("Checked: 3 hosts, 0 errors").waitFor();
  await page.getByLabel("Kernel arguments to add").fill(kernelArguments);
  await page.getByRole("button", { name: "Boot hosts" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Boot 3 hosts" }).click();
  await page.getByText("3 boots started.").waitFor();
  console.log((await page.locator("#result .built li").allTextContents()).join("\n"));
  assert.deepEqual(errors, []);
} finally {
  await browser.close();
}
