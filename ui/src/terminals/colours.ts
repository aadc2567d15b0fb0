/** The sixteen colours of a terminal, light and dark. terminals.css gives the margins the same background. */
import type { ITheme } from "@xterm/xterm";
import { isDark } from "../stores/view";

const DARK: ITheme = {
  background: "#14171c",
  foreground: "#e4e7ec",
  cursor: "#e4e7ec",
  selectionBackground: "#33518a",
  black: "#3b4252",
  red: "#ff7b72",
  green: "#63d18a",
  yellow: "#e8c069",
  blue: "#7db0ff",
  magenta: "#d2a0f5",
  cyan: "#58c3e0",
  white: "#d4d8df",
  brightBlack: "#8b94a5",
  brightRed: "#ffa198",
  brightGreen: "#8be3aa",
  brightYellow: "#f5d78e",
  brightBlue: "#a5c9ff",
  brightMagenta: "#e2c2fa",
  brightCyan: "#8adcf0",
  brightWhite: "#ffffff",
};

const LIGHT: ITheme = {
  background: "#ffffff",
  foreground: "#1c2430",
  cursor: "#1c2430",
  cursorAccent: "#ffffff",
  selectionBackground: "#bcd5fb",
  black: "#1c2430",
  red: "#b3261e",
  green: "#177a3d",
  yellow: "#7d5700",
  blue: "#1f5fc4",
  magenta: "#7a3fb0",
  cyan: "#0b6b84",
  white: "#5d6775",
  brightBlack: "#6b7686",
  brightRed: "#c4352c",
  brightGreen: "#146b36",
  brightYellow: "#8a5a00",
  brightBlue: "#2f6fce",
  brightMagenta: "#8a4bc4",
  brightCyan: "#0d7490",
  brightWhite: "#3a4452",
};

export function colours(): ITheme {
  return isDark() ? DARK : LIGHT;
}
