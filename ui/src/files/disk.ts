/** Files of the user's own disk: the browser's dialogs for what is taken from there, and kept there. */

interface Choice {
  /** As in ".mn,.yaml"; any file without it. */
  accept?: string;
  isMany?: boolean;
}

export function chooseFiles({ accept = "", isMany = false }: Choice, take: (files: readonly File[]) => void): void {
  const input = document.createElement("input");
  input.type = "file";
  input.accept = accept;
  input.multiple = isMany;
  input.onchange = () => take([...(input.files ?? [])]);
  input.click();
}

export function saveToDisk(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
