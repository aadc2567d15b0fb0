/** The document and files: new, open, save; the working folder, and the user's own disk. */
import { CommandError, send, showError, type CommandOf } from "../connection";
import { ask, closeDialog, showDialog } from "../layout/dialogs";
import type { NewCommand, OpenCommand } from "../protocol";
import { useDocument } from "../stores/document";
import { select } from "../stores/selection";
import { toast } from "../stores/toasts";
import { chooseFiles, saveToDisk } from "./disk";
import { askToReplace } from "./folder";

export const EXPORTS = [
  { form: "py", title: "Python script" },
  { form: "sh", title: "Shell script" },
  { form: "yaml", title: "YAML" },
  { form: "svg", title: "Picture (SVG)" },
] as const;

/** Does what would throw unsaved changes away; asks first if there are any. */
async function replacing<C extends CommandOf<"new"> | CommandOf<"open">>(
  command: C & { do: "new" | "open" },
): Promise<boolean> {
  try {
    await send(command as Omit<NewCommand, "id"> & Omit<OpenCommand, "id">);
  } catch (error) {
    if (!(error instanceof CommandError) || error.code !== "not saved") {
      showError(error);
      return false;
    }
    const answer = await ask({
      title: "Save the changes?",
      text: `${useDocument.getState().fileName} has changes that are not saved.`,
      answers: [
        { id: "save", title: "Save" },
        { id: "discard", title: "Do not save", isDangerous: true },
        { id: "cancel", title: "Cancel" },
      ],
    });
    if (answer === "save" && !(await save())) return false;
    if (answer !== "save" && answer !== "discard") return false;
    return replacing({ ...command, discard: true });
  }
  select([]);
  return true;
}

export async function newDocument(): Promise<boolean> {
  return replacing({ do: "new" });
}

/** A file of the working folder. */
export async function openPath(path: string): Promise<boolean> {
  return replacing({ do: "open", path });
}

/** A file of the user's disk. */
export async function openUpload(file: File): Promise<boolean> {
  return replacing({ do: "open", path: file.name, text: await file.text() });
}

/** The browser's dialog for a file of the user's disk. */
export function chooseUpload(): void {
  chooseFiles({ accept: ".mn,.yaml,.yml" }, ([file]) => {
    if (file !== undefined) void openUpload(file).then((isOpen) => isOpen && closeDialog());
  });
}

export function showOpen(): void {
  showDialog("open");
}

export function saveAs(): void {
  showDialog("save");
}

/** Where it came from; a document without a file is asked for its name, and false comes back. */
export async function save(): Promise<boolean> {
  if (useDocument.getState().path === null) {
    saveAs();
    return false;
  }
  return savePath(useDocument.getState().path ?? "");
}

export async function savePath(path: string, overwrite = false): Promise<boolean> {
  try {
    const saved = await send({ do: "save", path, overwrite });
    toast("good", `Saved ${saved.path}`);
    return true;
  } catch (error) {
    if (!(error instanceof CommandError) || error.code !== "exists") {
      showError(error);
      return false;
    }
  }
  return (await askToReplace([path])) && savePath(path, true);
}

/** The document in another form, to the user's disk. */
export async function download(form: string): Promise<void> {
  try {
    const answer = await fetch(`/api/export/${form}`, { cache: "no-store" });
    if (!answer.ok) throw new CommandError((await answer.json()) as { what: string });
    const stem = useDocument.getState().fileName.replace(/\.[^.]*$/, "") || "network";
    saveToDisk(await answer.blob(), `${stem}.${form}`);
  } catch (error) {
    showError(error);
  }
}
