/** Short messages in the corner. Errors stay until they are closed, others disappear by themselves. */
import { create } from "zustand";

export type Level = "info" | "good" | "warning" | "error";

export interface Toast {
  id: number;
  level: Level;
  what: string;
  hint: string;
  /** The code of the error, if it has one. */
  code: string;
}

interface Toasts {
  toasts: Toast[];
}

const DISPLAY_MS = 5000;
const MAX_TOASTS = 5;
let lastId = 0;

export const useToasts = create<Toasts>(() => ({ toasts: [] }));

export function toast(level: Level, what: string, hint = "", code = ""): void {
  const isShown = useToasts.getState().toasts.some((shown) => shown.what === what && shown.hint === hint);
  if (isShown) return;
  lastId += 1;
  const added: Toast = { id: lastId, level, what, hint, code };
  useToasts.setState(({ toasts }) => ({ toasts: [...toasts, added].slice(-MAX_TOASTS) }));
  if (level !== "error") window.setTimeout(() => closeToast(added.id), DISPLAY_MS);
}

export function closeToast(id: number): void {
  useToasts.setState(({ toasts }) => ({ toasts: toasts.filter((shown) => shown.id !== id) }));
}

/** Close the messages about errors with this code, which are over. */
export function closeToastsAbout(code: string): void {
  useToasts.setState(({ toasts }) => ({ toasts: toasts.filter((shown) => shown.code !== code) }));
}
