/**
 * Cut, copy and paste. Keys use the browser's own events, which need no permission. Menus use the
 * clipboard API and, where that is refused, a copy kept in this tab.
 */
import { toast } from "../stores/toasts";
import { copied, deleteSelected, paste } from "./actions";

let lastCopy = "";

export async function copySelected(): Promise<boolean> {
  const text = copied();
  if (text === null) return false;
  lastCopy = text;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Refused: pasting still works within this tab.
  }
  return true;
}

export async function cutSelected(): Promise<void> {
  if (await copySelected()) deleteSelected();
}

export async function pasteHere(): Promise<void> {
  let text = lastCopy;
  try {
    text = (await navigator.clipboard.readText()) || lastCopy;
  } catch {
    // Refused: paste what was copied in this tab.
  }
  if (!paste(text) && !paste(lastCopy)) toast("info", "there is nothing to paste");
}

/** Handle the browser's copy and cut events. */
export function onCopy(event: ClipboardEvent): void {
  const text = copied();
  if (text === null) return;
  lastCopy = text;
  event.clipboardData?.setData("text/plain", text);
  event.preventDefault();
  if (event.type === "cut") deleteSelected();
}

export function onPaste(event: ClipboardEvent): void {
  if (paste(event.clipboardData?.getData("text/plain") ?? "")) event.preventDefault();
}
