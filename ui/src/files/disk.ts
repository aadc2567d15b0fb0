/** Files of the user's computer: choose files to upload, save a download. */

interface Choice {
  /** Suffixes, as in ".mn,.yaml"; empty for any file. */
  accept?: string;
  isMany?: boolean;
}

export function chooseFiles({ accept = "", isMany = false }: Choice, onFiles: (files: readonly File[]) => void): void {
  const input = document.createElement("input");
  input.type = "file";
  input.accept = accept;
  input.multiple = isMany;
  input.onchange = () => onFiles([...(input.files ?? [])]);
  input.click();
}

export function saveToDisk(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
