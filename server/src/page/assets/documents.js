// Checks documents that are dropped or chosen, and builds images from them.
"use strict";

(() => {
  const byId = (id) => document.getElementById(id);
  const panel = byId("documents");
  if (!panel) return;
  const [files, chosen, base, format, host, hosts] = ["files", "chosen", "base", "format", "host", "hosts"].map(byId);
  const [result, findings, drop] = ["result", "findings", "drop"].map(byId);
  const buttons = [byId("check"), byId("build")];
  let documents = [];

  const element = (name, text, attributes = {}) => {
    const made = document.createElement(name);
    if (text) made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };

  // Text as it is; what is compressed or not text, in base64.
  const read = async (file, name) => {
    const bytes = new Uint8Array(await file.arrayBuffer());
    try {
      return { name, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
    } catch {
      let binary = "";
      for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
      return { name, data: btoa(binary) };
    }
  };

  const take = async (list) => {
    documents = await Promise.all([...list].map((file) => read(file, file.webkitRelativePath || file.name)));
    panel.open = true;
    chosen.replaceChildren(...documents.map(({ name }) => element("li", name)));
    hosts.replaceChildren();
    host.value = "";
    if (documents.length) await check();
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
    result.replaceChildren(element("p", text));
    buttons.forEach((button) => (button.disabled = true));
    try {
      await work();
    } catch (error) {
      result.replaceChildren(element("p", `The server does not answer: ${error.message}`, { class: "bad" }));
    } finally {
      buttons.forEach((button) => (button.disabled = false));
    }
  };

  const nothing = () => {
    if (documents.length) return false;
    result.replaceChildren(element("p", "Choose or drop documents first.", { class: "bad" }));
    return true;
  };

  const check = async () => {
    if (nothing()) return;
    await working("Checking", async () => {
      const request = { documents };
      if (base.value) request.base = base.value;
      if (host.value) request.host = host.value;
      const { ok, body } = await send("/v1/check", request);
      showFindings(body.findings ?? []);
      if (!ok) return result.replaceChildren(element("p", body.detail, { class: "bad" }));
      const names = body.hosts.map(({ name, hostname }) => name ?? hostname).filter(Boolean);
      hosts.replaceChildren(...names.map((name) => element("option", null, { value: name })));
      const parts = [counted(body.hosts.length, "host"), counted(body.errors, "error"), counted(body.warnings, "warning")];
      result.replaceChildren(element("p", `Checked: ${parts.join(", ")}.`, { class: body.errors ? "bad" : "good" }));
    });
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
      const order = (name) => {
        const request = { documents, base: base.value, format: format.value };
        return send("/v1/images", name ? { ...request, host: name } : request);
      };
      const list = element("ul", null, { class: "built" });
      const all = [];
      let failed = 0;
      const add = ({ ok, body }, name) => {
        all.push(...(body.findings ?? []));
        if (!ok) failed += 1;
        list.append(ok ? built(body) : element("li", `${name ? `${name}: ` : ""}${body.detail}`, { class: "bad" }));
      };
      const first = await order(host.value);
      const names = !first.ok && !host.value && first.body.type?.endsWith("/several-hosts") ? first.body.known ?? [] : null;
      if (names) for (const name of names) add(await order(name), name);
      else add(first);
      const images = counted(list.children.length - failed, "image");
      const summary = failed ? `${images} built, ${failed} refused.` : `${images} built.`;
      result.replaceChildren(element("p", summary, { class: failed ? "bad" : "good" }), list);
      // A finding about all hosts comes with each image.
      const seen = new Set();
      showFindings(all.filter(({ message }) => !seen.has(message) && seen.add(message)));
    });
  };

  const offer = () => {
    const formats = (base.selectedOptions[0]?.dataset.formats ?? "").split(" ").filter(Boolean);
    format.replaceChildren(...formats.map((name) => element("option", name, { value: name })));
  };

  base.addEventListener("change", offer);
  files.addEventListener("change", () => take(files.files));
  byId("check").addEventListener("click", check);
  byId("build").addEventListener("click", build);
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
