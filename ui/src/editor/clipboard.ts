/**
 * Cut, copy and paste. By key they go through the browser's own events, which need no permission;
 * from a menu through the clipboard, and where that is refused through a memory of our own.
 */
import { toast } from "../stores/toasts";
import { copied, deleteSelected, paste } from "./actions";

let remembered = "";

export async function copySelected(): Promise<boolean> {
  const text = copied();
  if (text === null) return false;
  remembered = text;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Within this tab it works nevertheless.
  }
  return true;
}

export async function cutSelected(): Promise<void> {
  if (await copySelected()) deleteSelected();
}

export async function pasteHere(): Promise<void> {
  let text = remembered;
  try {
    text = (await navigator.clipboard.readText()) || remembered;
  } catch {
    // Not permitted: what was copied in this tab.
  }
  if (!paste(text) && !paste(remembered)) toast("info", "there is nothing to paste");
}

/** For the browser's copy and cut. */
export function onCopy(event: ClipboardEvent): void {
  const text = copied();
  if (text === null) return;
  remembered = text;
  event.clipboardData?.setData("text/plain", text);
  event.preventDefault();
  if (event.type === "cut") deleteSelected();
}

export function onPaste(event: ClipboardEvent): void {
  if (paste(event.clipboardData?.getData("text/plain") ?? "")) event.preventDefault();
}
