import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import { connect } from "./connection";
// Loaded at once, because it must receive the first push.
import "./stores/notices";
import "./styles/theme.css";
import "./styles/layout.css";
import "./styles/controls.css";
import "./styles/forms.css";

const MAX_FONT_MS = 1000;
const root = document.getElementById("root");
if (root === null) throw new Error("index.html lacks #root");
connect();
await fontIsLoaded();
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);

/** Wait for the page's font, because what is drawn on canvases would keep another one; but not for long. */
async function fontIsLoaded(): Promise<unknown> {
  const loaded = document.fonts.load('13px "Inter"').catch(() => []);
  return Promise.race([loaded, new Promise((resolve) => setTimeout(resolve, MAX_FONT_MS))]);
}
