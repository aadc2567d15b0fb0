/** Short messages in the corner: errors stay until they are closed, the others go by themselves. */
import { create } from "zustand";

export type Level = "info" | "good" | "warning" | "error";

export interface Toast {
  id: number;
  level: Level;
  what: string;
  hint: string;
}

interface Toasts {
  toasts: Toast[];
}

const SHOWN_MS = 5000;
const MOST = 5;
let lastId = 0;

export const useToasts = create<Toasts>(() => ({ toasts: [] }));

export function toast(level: Level, what: string, hint = ""): void {
  const known = useToasts.getState().toasts.find((it) => it.what === what && it.hint === hint);
  if (known !== undefined) return;
  lastId += 1;
  const made: Toast = { id: lastId, level, what, hint };
  useToasts.setState(({ toasts }) => ({ toasts: [...toasts, made].slice(-MOST) }));
  if (level !== "error") window.setTimeout(() => closeToast(made.id), SHOWN_MS);
}

export function closeToast(id: number): void {
  useToasts.setState(({ toasts }) => ({ toasts: toasts.filter((it) => it.id !== id) }));
}
