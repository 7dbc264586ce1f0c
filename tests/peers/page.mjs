// The page in a real browser: Chromium, driven by playwright-core, with axe-core for accessibility. Prints what it has measured as
// JSON; a check that fails ends it with an error.
//
//   node page.mjs '{"api": …, "token": …, "modules": …, "documents": …, "screenshots": …, "booted": …, "failed": …, "running": …}'
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { launch } from "./browser.mjs";

const { api, token, modules, documents, screenshots, booted, failed, running } = JSON.parse(process.argv[2]);
const require = createRequire(path.join(modules, "index.js"));
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const LIMIT = 30_000;
const hosts = booted + failed + running;
const headline = `${booted} of ${hosts} booted, ${failed} failed, ${running} running`;
const errors = [];
const measured = {};

const ask = async (at) => {
  const answer = await fetch(`${api}${at}`, { headers: { authorization: `Bearer ${token}` } });
  assert.ok(answer.ok, `${at}: ${answer.status}`);
  return answer.json();
};

const shot = async (page, name, fullPage = false) => {
  if (screenshots) await page.screenshot({ path: path.join(screenshots, `${name}.png`), fullPage });
};

// Evaluated through the debugger, so the page's policy against foreign scripts stays in force.
const accessible = async (page, name) => {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  const bad = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  const told = bad.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join("; ")}`);
  assert.deepEqual(told, [], name);
};

const fits = async (page, name) => {
  const [wide, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  assert.ok(wide <= screen, `${name}: ${wide} > ${screen}`);
};

const watch = (page) => {
  page.setDefaultTimeout(LIMIT);
  page.on("console", (message) => message.type() === "error" && errors.push(`${page.url()}: ${message.text()}`));
  page.on("pageerror", (error) => errors.push(`${page.url()}: ${error}`));
  return page;
};

if (screenshots) mkdirSync(screenshots, { recursive: true });
const browser = await launch(modules);
try {
  const context = await browser.newContext({ colorScheme: "light", viewport: { width: 1360, height: 900 } });
  const page = watch(await context.newPage());

  await page.goto(`${api}/`);
  await accessible(page, "login");
  await shot(page, "login");
  await page.getByLabel("API token").fill("not-a-token-of-this-server");
  await page.keyboard.press("Enter");
  await page.getByText("This token is not valid on this server.").waitFor();
  await accessible(page, "refused login");
  // The browser itself reports the status of that answer.
  assert.equal(errors.splice(0).filter((text) => !text.includes("403")).length, 0);
  await page.goto(`${api}/?group=failed`);
  await page.getByLabel("API token").fill(token);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.waitForURL(`${api}/?group=failed`);
  const cookies = await context.cookies();
  assert.equal(cookies.length, 1);
  assert.deepEqual([cookies[0].httpOnly, cookies[0].sameSite, cookies[0].expires], [true, "Strict", -1]);
  assert.ok(!cookies[0].value.includes(token));
  assert.equal(await page.locator("#rows > li").count(), failed);

  // The headline and the order: what runs, what failed, the rest.
  await page.getByRole("link", { name: /^all/ }).click();
  await page.getByRole("heading", { level: 1, name: headline }).waitFor();
  const states = await page.locator("#rows .badge").allTextContents();
  assert.deepEqual(states, [...Array(running).fill("running"), ...Array(failed).fill("failed"), ...Array(booted).fill("booted")]);
  assert.match(await page.locator("#rows > li.bad .reason").first().textContent(), /^insert: /);
  await page.locator("#connection[data-state=live]").waitFor();
  await accessible(page, "boots, light");
  await shot(page, "boots-light");

  // A client reads the image of a running host, as its BMC does. The page shows each piece.
  const { boots } = await ask("/v1/boots?limit=1000");
  const boot = boots.find(({ state }) => state === "running");
  const image = await ask(`/v1/images/${boot.image}`);
  const row = page.locator(`#boot-${boot.id}`);
  const link = row.getByRole("link");
  await link.focus();
  const piece = Math.floor(image.size / 8);
  measured.milliseconds = [];
  for (let number = 2; number < 8; number += 1) {
    const before = await row.locator(".strip path").getAttribute("d");
    const range = `bytes=${number * piece}-${number * piece + piece - 1}`;
    const answer = await fetch(image.url, { headers: { range } });
    assert.equal(answer.status, 206);
    await answer.arrayBuffer();
    const read = performance.now();
    await page.waitForFunction(
      ([id, path]) => document.querySelector(`#boot-${id} .strip path`).getAttribute("d") !== path,
      [boot.id, before],
      { polling: 20 },
    );
    measured.milliseconds.push(Math.round(performance.now() - read));
    await sleep(137 * number);
  }
  const sorted = [...measured.milliseconds].sort((one, other) => one - other);
  assert.ok(sorted[Math.floor(sorted.length / 2)] <= 1000 && sorted.at(-1) <= 3000, `${sorted}`);
  assert.match(await row.locator(".pace").textContent(), /\d [kM]B\/s/);
  const bars = await row.locator(".bar").evaluateAll((bars) =>
    bars.map((bar) => [bar.querySelector(".role").title, bar.querySelector("progress").value]));
  const reading = await ask(`/v1/images/${boot.image}/reading`);
  const files = reading.contents.filter(({ role, read }) => role && read > 0);
  assert.deepEqual(Object.fromEntries(bars), Object.fromEntries(files.map(({ name, percent }) => [name, percent])));
  assert.deepEqual([...new Set(files.map(({ role }) => role))].sort(), ["initrd", "kernel", "rootfs"]);
  assert.ok(await link.evaluate((element) => element === document.activeElement), "an update moves the focus");
  await shot(page, "boots-reading");

  // A proxy that holds events back passes on the head of the answer.
  const held = watch(await context.newPage());
  await held.route(/\/live\?/, (route) => route.fulfill({ contentType: "text/event-stream", body: ": nothing\n\n" }));
  await held.addInitScript(() => {
    globalThis.states = [];
    const note = () => globalThis.states.push(document.getElementById("connection")?.dataset.state);
    new MutationObserver(note).observe(document, { subtree: true, attributeFilter: ["data-state"] });
  });
  await held.goto(`${api}/`);
  await held.waitForFunction(() => globalThis.states.length >= 3);
  assert.deepEqual(await held.evaluate(() => [...new Set(globalThis.states)]), ["waiting"]);
  await held.close();

  // The same without scripts.
  const plain = await browser.newContext({ javaScriptEnabled: false, storageState: await context.storageState() });
  const still = watch(await plain.newPage());
  await still.goto(`${api}/`);
  assert.equal(await still.locator("h1").textContent(), headline);
  assert.equal(await still.locator("#rows > li").count(), Math.min(hosts, 50));
  assert.ok((await still.locator(`#boot-${boot.id} progress`).count()) >= 3);
  await plain.close();

  // Keyboard: the first key reaches a link past the navigation; what has the focus is marked.
  await page.reload();
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the content");
  const outline = () => page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(await outline(), "solid");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "SUMMARY");
  await page.keyboard.press("Enter");
  await page.locator("#documents[open]").waitFor();

  // Documents: dropped, checked, mended and built.
  const nmstate = (name) =>
    `interfaces:\n- name: ${name}\n  type: ethernet\n  state: up\n  ipv4:\n    enabled: true\n    address:\n    - {ip: 192.0.2.9, prefix-length: 24}\n`;
  const dropped = await page.evaluateHandle((text) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], "worker-9.yaml"));
    return transfer;
  }, nmstate("an-interface-with-a-long-name"));
  for (const type of ["dragenter", "dragover", "drop"]) await page.dispatchEvent("main", type, { dataTransfer: dropped });
  await page.getByText("Checked: 1 host, 1 error, 0 warnings.").waitFor();
  assert.match(await page.locator("#findings li.error").textContent(), /interface-name-invalid.*worker-9\.yaml:2:/s);
  assert.equal(await page.locator("#chosen").textContent(), "worker-9.yaml");
  await accessible(page, "findings");
  await page.getByRole("button", { name: "Build images" }).click();
  await page.getByText("0 images built, 1 refused.").waitFor();
  await shot(page, "findings");
  // The browser reports the status of the refusal.
  assert.deepEqual(errors.splice(0).filter((text) => !text.includes("422")), []);
  const hostile = `'<img src=x onerror="document.title=1">'`;
  await page.setInputFiles("#files", { name: "<b>x.yaml", mimeType: "text/yaml", buffer: Buffer.from(nmstate(hostile)) });
  await page.getByText(/Checked: 1 host, [1-9]/).waitFor();
  assert.match(await page.locator("#findings").textContent(), /<img src=x/);
  assert.equal(await page.locator("#findings img, #chosen b").count(), 0);
  await page.setInputFiles("#files", { name: "worker-9.yaml", mimeType: "text/yaml", buffer: Buffer.from(nmstate("eno1")) });
  await page.getByText(/Checked: 1 host, 0 errors/).waitFor();
  await page.getByRole("button", { name: "Build images" }).click();
  await page.getByText("1 image built.").waitFor();
  // The button was disabled meanwhile.
  assert.equal(await page.evaluate(() => document.activeElement.id), "build");
  await page.getByLabel("Kernel arguments to add").press("Enter");
  await page.getByText(/Checked: 1 host, 0 errors/).waitFor();
  // A file that has changed on disk is not checked as it was. It can be chosen again, although it has the same name.
  const edited = `${documents}.edited.yaml`;
  writeFileSync(edited, nmstate("an-interface-with-a-long-name"));
  const chooser = async () => {
    const opened = page.waitForEvent("filechooser");
    await page.getByLabel("Files").click();
    await (await opened).setFiles(edited);
  };
  await chooser();
  await page.getByText("Checked: 1 host, 1 error, 0 warnings.").waitFor();
  writeFileSync(edited, nmstate("eno1"));
  for (const action of ["Check", "Build images", "Boot hosts"]) {
    await page.getByRole("button", { name: action, exact: true }).click();
    await page.getByText(`Cannot read ${path.basename(edited)}. If it has changed since you chose it, choose it again.`).waitFor();
    await page.evaluate(() => document.getElementById("result").replaceChildren());
  }
  await chooser();
  await page.getByText(/Checked: 1 host, 0 errors/).waitFor();
  await page.getByRole("button", { name: "Build images" }).click();
  await page.getByText("1 image built.").waitFor();
  await page.locator(".built a").click();
  await page.waitForURL(/\/images\/[0-9a-f]{64}$/);

  // The image, the bases, and a boot.
  await page.locator(".picture img").evaluate((picture) => picture.decode());
  await page.getByRole("rowheader", { name: "/etc/coreos-firstboot-network/eno1.nmconnection" }).waitFor();
  const views = { image: page.url(), images: `${api}/images`, bases: `${api}/bases`, boot: `${api}/boots/${boot.id}`, boots: `${api}/` };
  for (const [name, url] of Object.entries(views)) {
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await page.goto(url);
      if (name !== "images" && name !== "bases") await page.locator("#connection[data-state=live]").waitFor();
      await accessible(page, `${name}, ${colorScheme}`);
      await shot(page, `${name}-${colorScheme}`, name !== "boots");
    }
  }

  // Narrow screens.
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 320, height: 700 });
  for (const [name, url] of Object.entries(views)) {
    await page.goto(url);
    if (name === "boots") await page.locator("summary").click();
    await fits(page, name);
    await accessible(page, `${name}, narrow`);
    await shot(page, `${name}-narrow`);
  }

  // A host is booted again: the page asks first. The BMC of a host that is booting is in use.
  const begun = async (host) => (await ask(`/v1/boots?host=${host}`)).boots;
  const choose = async () => {
    await page.goto(`${api}/#documents`);
    await page.setInputFiles("#files", documents);
    await page.getByText(`Checked: ${hosts} hosts, 0 errors`).waitFor();
  };
  await choose();
  const question = page.getByRole("dialog");
  const wish = async (host, answer, meanwhile = async () => {}) => {
    await page.getByRole("combobox", { name: "Host" }).fill(host);
    await page.getByRole("button", { name: "Boot hosts" }).click();
    await question.getByRole("heading", { name: "Boot 1 host?" }).waitFor();
    assert.deepEqual(await question.locator("li").allTextContents(), [host]);
    await fits(page, "the question before a boot");
    await accessible(page, "the question before a boot");
    await shot(page, "boot-question");
    await meanwhile();
    await (answer === "Escape" ? page.keyboard.press("Escape") : question.getByRole("button", { name: answer }).click());
  };
  const again = `host-${hosts - 1}`;
  for (const answer of ["Cancel", "Escape"]) {
    await wish(again, answer);
    await question.waitFor({ state: "hidden" });
  }
  // Its boot is deleted first, from its own page, and the documents are chosen again.
  const [before] = await begun(again);
  await page.goto(`${api}/boots/${before.id}`);
  const removal = async (answer) => {
    await page.getByRole("button", { name: "Delete the boot" }).click();
    await question.getByRole("heading", { name: `Delete the boot of ${again}?` }).waitFor();
    await question.getByRole("button", { name: answer }).click();
    await question.waitFor({ state: "hidden" });
  };
  await page.getByRole("button", { name: "Delete the boot" }).click();
  await fits(page, "the question before a deletion");
  await accessible(page, "the question before a deletion");
  await shot(page, "delete-question");
  await page.keyboard.press("Escape");
  await removal("Cancel");
  assert.equal((await begun(again))[0].state, "booted");
  await removal("Delete");
  await page.getByText("dayone is restoring the BMC.").waitFor();
  await page.locator("#boot .badge", { hasText: "ejected" }).waitFor();
  assert.equal((await begun(again))[0].state, "ejected");
  await choose();
  const other = await page.evaluateHandle((text) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], "other.yaml"));
    return transfer;
  }, nmstate("eno1"));
  await page.getByLabel("Kernel arguments to add").fill('console=ttyS0  dyndbg="file a.c +p"');
  // The hosts that are booted are those in the question, whatever is dropped or filled in after it.
  const names = await page.locator("#chosen").textContent();
  await wish(again, "Boot 1 host", async () => {
    for (const type of ["dragenter", "dragover", "drop"]) await page.dispatchEvent("main", type, { dataTransfer: other });
    await page.evaluate(() => (document.getElementById("host").value = "host-0"));
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.equal(await page.locator("#chosen").textContent(), names);
    await question.getByRole("heading", { name: "Boot 1 host?" }).waitFor();
  });
  await page.getByText("1 boot started.").waitFor();
  assert.equal((await begun("host-0")).length, 1);
  const { image: ordered } = (await begun(again)).find(({ id }) => id !== before.id);
  const { kernel_arguments: given } = await ask(`/v1/images/${ordered}`);
  assert.ok(given.endsWith(' console=ttyS0 dyndbg="file a.c +p"'), given);
  await wish("host-0", "Boot 1 host");
  await page.getByText("No boot was started.").waitFor();
  assert.equal((await begun("host-0")).length, 1);
  assert.match(await page.locator("#result").textContent(), /host-0|in use/);
  assert.equal(errors.splice(0).filter((text) => !text.includes("409")).length, 0);

  // A boot that has ended is forgotten.
  await page.goto(`${api}/boots/${before.id}`);
  await removal("Delete");
  await page.waitForURL(`${api}/`);
  assert.ok(!(await begun(again)).some(({ id }) => id === before.id));

  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByLabel("API token").waitFor();
  await fits(page, "login");
  await page.goto(`${api}/bases`);
  await page.getByLabel("API token").waitFor();
  assert.deepEqual(errors, []);
} finally {
  await browser.close();
}
console.log(JSON.stringify(measured));
