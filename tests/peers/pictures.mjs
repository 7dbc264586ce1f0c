// Takes pictures of the page while hosts boot, for the documentation: light, dark, and one boot.
//
//   node pictures.mjs '{"api": …, "modules": …, "pictures": …}'
import path from "node:path";

import { launch } from "./browser.mjs";

const { api, modules, pictures } = JSON.parse(process.argv[2]);

const browser = await launch(modules);
try {
  const page = await browser.newPage({ colorScheme: "light", viewport: { width: 1200, height: 800 } });
  page.setDefaultTimeout(120_000);
  const shot = (name) => page.screenshot({ path: path.join(pictures, `${name}.png`) });
  await page.goto(`${api}/`);
  // Some hosts have booted, one has failed, and others still read.
  await page.waitForFunction(() => /^[2-9] of .*failed.*running/.test(document.getElementById("headline").textContent));
  await shot("boots-light");
  await page.emulateMedia({ colorScheme: "dark" });
  await shot("boots-dark");
  await page.emulateMedia({ colorScheme: "light" });
  await page.locator("#rows > li.run a").last().click();
  await page.locator("#connection[data-state=live]").waitFor();
  await shot("boot");
} finally {
  await browser.close();
}
