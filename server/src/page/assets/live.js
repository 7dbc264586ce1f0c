// Keeps a view up to date: the server sends the HTML of what has changed, once a second.
"use strict";

(() => {
  const view = document.querySelector("[data-live]");
  if (!view) return;
  const list = document.getElementById("rows");
  const connection = document.getElementById("connection");
  const announcement = document.getElementById("announcement");
  const RETRY = 10_000;
  const ANNOUNCE = 10_000;

  const parsed = (html) => {
    const template = document.createElement("template");
    template.innerHTML = html;
    return template.content.firstElementChild;
  };

  // Makes `old` the same as `wanted` and keeps the nodes, so that focus and selection stay where they are.
  const morph = (old, wanted) => {
    if (old.nodeType !== wanted.nodeType || old.nodeName !== wanted.nodeName) {
      old.replaceWith(wanted);
      return;
    }
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.nodeValue !== wanted.nodeValue) old.nodeValue = wanted.nodeValue;
      return;
    }
    for (const { name } of [...old.attributes]) if (!wanted.hasAttribute(name)) old.removeAttribute(name);
    for (const { name, value } of wanted.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    const [before, after] = [[...old.childNodes], [...wanted.childNodes]];
    after.forEach((node, at) => (at < before.length ? morph(before[at], node) : old.append(node)));
    before.slice(after.length).forEach((node) => node.remove());
  };

  const update = (id, html) => {
    const [old, wanted] = [document.getElementById(id), parsed(html)];
    if (old && wanted) morph(old, wanted);
  };

  const arrange = (rows) => {
    const wanted = new Set(rows.map(([id]) => id));
    for (const item of [...list.children]) if (!wanted.has(item.id)) item.remove();
    rows.forEach(([id, html], at) => {
      let item = document.getElementById(id);
      if (item && html) morph(item, parsed(html));
      item ??= html ? parsed(html) : null;
      // A node that stays in its place keeps the focus.
      if (item && list.children[at] !== item) list.insertBefore(item, list.children[at] ?? null);
    });
  };

  // A screen reader hears the headline when it changes, and not more often than every ten seconds.
  let said = document.getElementById("headline")?.textContent;
  let timer = null;
  const announce = () => {
    const headline = document.getElementById("headline")?.textContent;
    if (timer || !headline || headline === said) return;
    announcement.textContent = said = headline;
    timer = setTimeout(() => {
      timer = null;
      announce();
    }, ANNOUNCE);
  };

  const tell = (state, text) => {
    connection.hidden = false;
    connection.dataset.state = state;
    connection.textContent = text;
  };

  const follow = () => {
    const events = new EventSource(view.dataset.live);
    events.addEventListener("open", () => tell("live", "live"));
    events.addEventListener("change", ({ data }) => {
      const { elements, rows } = JSON.parse(data);
      elements.forEach(([id, html]) => update(id, html));
      if (rows && list) arrange(rows);
      announce();
    });
    events.addEventListener("error", () => {
      if (events.readyState !== EventSource.CLOSED) return tell("waiting", "connecting again");
      tell("stopped", "not live: load the page again");
      setTimeout(follow, RETRY);
    });
    addEventListener("pagehide", () => events.close(), { once: true });
  };

  addEventListener("pageshow", (event) => event.persisted && follow());
  follow();
})();
