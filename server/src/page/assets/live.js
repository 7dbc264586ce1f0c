// Keeps a view up to date: the server sends the HTML of what has changed, once a second.
"use strict";

(() => {
  const view = document.querySelector("[data-live]");
  if (!view) return;
  const list = document.getElementById("rows");
  const connection = document.getElementById("connection");
  const announcement = document.getElementById("announcement");
  const RETRY = 10_000;
  const SILENCE = 10_000;
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

  // `rows` are those that are new or have changed; `order` has the ids of all, if a row came, went or moved.
  const arrange = (rows, order) => {
    const items = new Map([...list.children].map((item) => [item.id, item]));
    for (const [id, html] of rows) {
      const item = items.get(id);
      if (item) morph(item, parsed(html));
      else items.set(id, parsed(html));
    }
    if (!order) return;
    const wanted = new Set(order);
    for (const item of [...list.children]) if (!wanted.has(item.id)) item.remove();
    order.forEach((id, at) => {
      const item = items.get(id);
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
    let silence = null;
    // A proxy may hold back events, or the whole answer: only an event shows that they arrive. The server sends the first one at once.
    const wait = (text) => {
      tell("waiting", text);
      clearTimeout(silence);
      silence = setTimeout(() => tell("stopped", "not live: no event arrives; a proxy may hold them back"), SILENCE);
    };
    wait("connecting");
    events.addEventListener("open", () => wait("connecting"));
    events.addEventListener("change", ({ data }) => {
      clearTimeout(silence);
      if (connection.dataset.state !== "live") tell("live", "live");
      const { elements, rows, order } = JSON.parse(data);
      elements.forEach(([id, html]) => update(id, html));
      if (rows && list) arrange(rows, order);
      announce();
    });
    events.addEventListener("error", () => {
      if (events.readyState !== EventSource.CLOSED) return wait("connecting again");
      clearTimeout(silence);
      tell("stopped", "not live: load the page again");
      setTimeout(follow, RETRY);
    });
    const stop = () => {
      clearTimeout(silence);
      events.close();
    };
    addEventListener("pagehide", stop, { once: true });
  };

  addEventListener("pageshow", (event) => event.persisted && follow());
  follow();
})();
