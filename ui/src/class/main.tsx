import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "../styles/theme.css";
import "../styles/controls.css";
import "./class.css";
import { TeacherPage } from "./TeacherPage";

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const paintTheme = () => (document.documentElement.dataset.theme = prefersDark.matches ? "dark" : "light");
prefersDark.addEventListener("change", paintTheme);
paintTheme();

const root = document.getElementById("root");
if (root === null) throw new Error("class.html lacks #root");
createRoot(root).render(
  <StrictMode>
    <TeacherPage />
  </StrictMode>,
);
