// Starts headless Chromium with playwright-core of a directory of node's modules.
import { createRequire } from "node:module";
import path from "node:path";

export const launch = (modules) =>
  createRequire(path.join(modules, "index.js"))("playwright-core").chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: [
      "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync",
    ],
  });
