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

const root = document.getElementById("root");
if (root === null) throw new Error("index.html lacks #root");
connect();
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
