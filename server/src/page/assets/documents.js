// Checks documents that are dropped or chosen, builds images from them, and boots their hosts.
"use strict";

(() => {
  const byId = (id) => document.getElementById(id);
  const panel = byId("documents");
  if (!panel) return;
  const [files, chosen, base, format, host, hosts] = ["files", "chosen", "base", "format", "host", "hosts"].map(byId);
  const [result, findings, drop, kernelArguments] = ["result", "findings", "drop", "kernel-arguments"].map(byId);
  const [question, begin] = [byId("boot-question"), byId("boot-begin")];
  const buttons = ["check", "build", "boot"].map(byId);
  // The files, each with its name. They are read for every action: they may have changed since they were chosen.
  let chosenFiles = [];
  // Whether the page reads documents or waits for the server.
  let busy = false;
  // The order that the dialog asks to confirm.
  let confirmation;

  const element = (name, text, attributes = {}) => {
    const made = document.createElement(name);
    if (text) made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };

  // Text as it is; what is compressed or not text, in base64. Chromium does not read a file that has changed since it was chosen,
  // and blames its permissions.
  const read = async ({ file, name }) => {
    const bytes = await file.arrayBuffer().then((buffer) => new Uint8Array(buffer), () => {
      throw new Unreadable(`Cannot read ${name}. If it has changed since you chose it, choose it again.`);
    });
    try {
      return { name, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
    } catch {
      let binary = "";
      for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
      return { name, data: btoa(binary) };
    }
  };

  class Unreadable extends Error {}

  // Other documents would not be those that the page is working on, or that the dialog is about.
  const take = async (list) => {
    if (busy || question.open) return;
    chosenFiles = [...list].map((file) => ({ file, name: file.webkitRelativePath || file.name }));
    panel.open = true;
    chosen.replaceChildren(...chosenFiles.map(({ name }) => element("li", name)));
    hosts.replaceChildren();
    findings.replaceChildren();
    host.value = "";
    result.replaceChildren();
    if (chosenFiles.length) await check();
  };

  const showFindings = (list) => {
    const items = list.map(({ severity, code, message, position, effect, fix }) => {
      const item = element("li", null, { class: severity });
      const title = element("p");
      title.append(element("strong", severity), " ", element("code", code));
      if (position) {
        const place = [position.file, position.line, position.column].filter((part) => part !== undefined).join(":");
        title.append(" ", element("span", place, { class: "num" }));
      }
      item.append(title, element("p", message));
      if (effect) item.append(element("p", effect, { class: "note" }));
      if (fix) item.append(element("p", `Fix: ${fix}`, { class: "note" }));
      return item;
    });
    const shown = element("ul", null, { class: "findings" });
    shown.append(...items);
    findings.replaceChildren(...(items.length ? [shown] : []));
  };

  const counted = (number, one) => `${number} ${one}${number === 1 ? "" : "s"}`;

  const send = async (path, body) => {
    const answer = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify(body),
    });
    return { ok: answer.ok, body: await answer.json() };
  };

  // Shows that the server works, and what prevents it from working.
  const working = async (text, work) => {
    if (busy) return;
    busy = true;
    const focused = document.activeElement;
    result.replaceChildren(element("p", text));
    [...buttons, files].forEach((control) => (control.disabled = true));
    try {
      await work();
    } catch (error) {
      const text = error instanceof Unreadable ? error.message : `The server does not answer: ${error.message}`;
      result.replaceChildren(element("p", text, { class: "bad" }));
    } finally {
      [...buttons, files].forEach((control) => (control.disabled = false));
      busy = false;
      // A control that is disabled loses the focus.
      if (document.activeElement === document.body) focused.focus();
    }
  };

  const nothing = () => {
    if (chosenFiles.length) return false;
    result.replaceChildren(element("p", "Choose or drop documents first.", { class: "bad" }));
    return true;
  };

  const refused = ({ detail }, host) => element("li", host ? `${host}: ${detail}` : detail, { class: "bad" });

  // What to check: the documents, the base and the host as they are now.
  const subject = async () => {
    const settings = { ...(base.value && { base: base.value }), ...(host.value && { host: host.value }) };
    return { documents: await Promise.all(chosenFiles.map(read)), ...settings };
  };

  // The hosts of the documents, if the server can read them; shows what it has found.
  const checked = async (request) => {
    const { ok, body } = await send("/v1/check", request);
    showFindings(body.findings ?? []);
    if (!ok) return result.replaceChildren(element("p", body.detail, { class: "bad" }));
    const names = body.hosts.map(({ name, hostname }) => name ?? hostname).filter(Boolean);
    if (!request.host) hosts.replaceChildren(...names.map((name) => element("option", null, { value: name })));
    const parts = [counted(body.hosts.length, "host"), counted(body.errors, "error"), counted(body.warnings, "warning")];
    result.replaceChildren(element("p", `Checked: ${parts.join(", ")}.`, { class: body.errors ? "bad" : "good" }));
    return { names, count: body.hosts.length, errors: body.errors };
  };

  const check = async () => {
    if (!nothing()) await working("Checking", async () => checked(await subject()));
  };

  // What an image or a boot is ordered with. An argument may have spaces within double quotes.
  const order = async (what = subject()) => {
    const append = kernelArguments.value.match(/(?:[^\s"]|"[^"]*"?)+/g);
    const settings = { base: base.value, format: format.value, ...(append && { kernel_arguments: { append } }) };
    return { ...(await what), ...settings };
  };

  const built = ({ id, label, url }) => {
    const item = element("li");
    item.append(element("a", label ?? id.slice(0, 12), { href: `/images/${encodeURIComponent(id)}` }), " ");
    if (url) item.append(element("code", url, { class: "id" }));
    return item;
  };

  const build = async () => {
    if (nothing()) return;
    await working("Building", async () => {
      const request = await order();
      const { ok, body } = await send("/v1/images", request.host ? request : { ...request, hosts: "all" });
      const answers = body.hosts ?? [ok ? { image: body } : { problem: body }];
      const list = element("ul", null, { class: "built" });
      list.append(...answers.map(({ host, image, problem }) => (image ? built(image) : refused(problem, host))));
      const failed = answers.filter(({ problem }) => problem).length;
      const images = counted(answers.length - failed, "image");
      const summary = failed ? `${images} built, ${failed} refused.` : `${images} built.`;
      result.replaceChildren(element("p", summary, { class: failed ? "bad" : "good" }), list);
      // A finding about all hosts comes with each image.
      const all = [...(body.hosts ? body.findings ?? [] : []), ...answers.flatMap(({ image, problem }) => (image ?? problem).findings ?? [])];
      const seen = new Set();
      showFindings(all.filter(({ message }) => !seen.has(message) && seen.add(message)));
    });
  };

  // A boot restarts machines: the page asks first, and says which. What it checks, asks about and boots is the same, whatever
  // changes on the page meanwhile.
  const boot = async () => {
    if (nothing()) return;
    await working("Checking", async () => {
      const what = subject();
      const request = await order(what);
      const found = await checked(await what);
      if (!found || found.errors) return;
      const names = request.host ? [request.host] : found.names;
      const count = request.host ? 1 : found.count;
      confirmation = request;
      byId("boot-title").textContent = `Boot ${counted(count, "host")}?`;
      byId("boot-hosts").replaceChildren(...names.map((name) => element("li", name)));
      begin.textContent = `Boot ${counted(count, "host")}`;
      question.returnValue = "";
      question.showModal();
    });
  };

  const started = ({ id, host }) => {
    const item = element("li");
    item.append(element("a", host ?? id, { href: `/boots/${encodeURIComponent(id)}` }));
    return item;
  };

  question.addEventListener("close", () => {
    byId("boot").focus();
    if (question.returnValue !== "boot") return;
    working("Starting the boots", async () => {
      const { ok, body } = await send("/v1/boots", confirmation);
      const list = element("ul", null, { class: "built" });
      list.append(...(ok ? body.boots.map(started) : [refused(body)]));
      const summary = ok ? `${counted(body.boots.length, "boot")} started.` : "No boot was started.";
      result.replaceChildren(element("p", summary, { class: ok ? "good" : "bad" }), list);
      if (!ok) showFindings(body.findings ?? []);
    });
  });

  const offer = () => {
    const formats = (base.selectedOptions[0]?.dataset.formats ?? "").split(" ").filter(Boolean);
    format.replaceChildren(...formats.map((name) => element("option", name, { value: name })));
  };

  base.addEventListener("change", offer);
  // Without a choice of before, the same file can be chosen again.
  files.addEventListener("click", () => (files.value = ""));
  files.addEventListener("change", () => take(files.files));
  byId("build").addEventListener("click", build);
  byId("boot").addEventListener("click", boot);
  byId("documents-form").addEventListener("submit", (event) => {
    event.preventDefault();
    check();
  });
  let depth = 0;
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  const mark = (change) => {
    depth = Math.max(0, depth + change);
    drop.classList.toggle("over", depth > 0);
  };
  addEventListener("dragenter", (event) => hasFiles(event) && (mark(1), (panel.open = true)));
  addEventListener("dragleave", (event) => hasFiles(event) && mark(-1));
  addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
  addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    mark(-depth);
    take(event.dataTransfer.files);
  });
  if (location.hash === "#documents") panel.open = true;
  offer();
})();
