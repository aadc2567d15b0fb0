/** New, open and save: in the working folder, and on the user's computer. */
import { CommandError, request, send, showError, succeeds, type CommandOf } from "../connection";
import { ask, closeIfShown, showDialog, showImportNotes } from "../layout/dialogs";
import type { GenerateCommand, ImportedFile, NewCommand, OpenCommand } from "../protocol";
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
  { form: "pdf", title: "Picture (PDF)" },
] as const;

/** Replace the document; ask first if there are unsaved changes. */
async function replaceDocument<C extends CommandOf<"new"> | CommandOf<"open"> | CommandOf<"generate">>(
  command: C & { do: "new" | "open" | "generate" },
): Promise<boolean> {
  try {
    const reply = await send(command as Omit<NewCommand, "id"> & Omit<OpenCommand, "id"> & Omit<GenerateCommand, "id">);
    if (command.do === "open") showImported(reply as ImportedFile | null);
  } catch (error) {
    const code = error instanceof CommandError ? error.code : "";
    if (code === "running") return (await askToStop()) && replaceDocument(command);
    if (code === "not saved") return (await askToSave()) && replaceDocument({ ...command, discard: true });
    showError(error);
    return false;
  }
  select([]);
  return true;
}

/** Ask whether to stop the running network, which belongs to the document, and stop it. */
async function askToStop(): Promise<boolean> {
  const answer = await ask({
    title: "Stop the network?",
    text: `The network of ${useDocument.getState().fileName} is running. It ends, with its time line, before another one is opened.`,
    answers: [
      { id: "stop", title: "Stop", isDangerous: true },
      { id: "cancel", title: "Cancel" },
    ],
  });
  return answer === "stop" && (await succeeds({ do: "stop" }));
}

/** Ask whether to save the changes, and save them; returns whether they may be discarded now. */
export async function askToSave(): Promise<boolean> {
  const answer = await ask({
    title: "Save the changes?",
    text: `${useDocument.getState().fileName} has unsaved changes.`,
    answers: [
      { id: "save", title: "Save" },
      { id: "discard", title: "Discard", isDangerous: true },
      { id: "cancel", title: "Cancel" },
    ],
  });
  return answer === "save" ? save() : answer === "discard";
}

export async function newDocument(): Promise<boolean> {
  return replaceDocument({ do: "new" });
}

/** Show which parts of another program's topology have no counterpart. */
function showImported(imported: ImportedFile | null): void {
  if (imported === null) return;
  if (imported.notes.length === 0) toast("good", `Imported from ${imported.program}`);
  else showImportNotes(imported);
}

/** Draw a network of a known shape: "tree,depth=2,fanout=3". */
export async function generate(shape: string): Promise<boolean> {
  return replaceDocument({ do: "generate", shape });
}

/** Open a file of the working folder. */
export async function openPath(path: string): Promise<boolean> {
  return replaceDocument({ do: "open", path });
}

/** Open a file of the user's computer. */
export async function openUpload(file: File): Promise<boolean> {
  return openText(file.name, await file.text());
}

/** Open a topology that has no file yet. */
export async function openText(name: string, text: string): Promise<boolean> {
  return replaceDocument({ do: "open", path: name, text });
}

/** Choose a file of the user's computer and open it. */
export function chooseUpload(): void {
  chooseFiles({ accept: ".mn,.yaml,.yml,.gns3" }, ([file]) => {
    if (file !== undefined) void openUpload(file).then((isOpen) => isOpen && closeIfShown("open"));
  });
}

export function showOpen(): void {
  showDialog("open");
}

export function saveAs(): void {
  showDialog("save");
}

/** Save to the document's file. Without one, ask for a name and return false. */
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

/** Download the document in another format. */
export async function download(form: string): Promise<void> {
  try {
    const response = await request(`api/export/${form}`);
    const stem = useDocument.getState().fileName.replace(/\.[^.]*$/, "") || "network";
    saveToDisk(await response.blob(), `${stem}.${form}`);
  } catch (error) {
    showError(error);
  }
}

const PNG_SCALE = 2;

/** Download a picture of the canvas in pixels. */
export async function downloadPng(): Promise<void> {
  try {
    const response = await request("api/export/svg");
    const url = URL.createObjectURL(await response.blob());
    const picture = new Image();
    picture.src = url;
    await picture.decode();
    URL.revokeObjectURL(url);
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [picture.naturalWidth * PNG_SCALE, picture.naturalHeight * PNG_SCALE];
    const pen = canvas.getContext("2d")!;
    pen.fillStyle = "#ffffff";
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(picture, 0, 0, canvas.width, canvas.height);
    const stem = useDocument.getState().fileName.replace(/\.[^.]*$/, "") || "network";
    canvas.toBlob((blob) => blob !== null && saveToDisk(blob, `${stem}.png`));
  } catch (error) {
    showError(error);
  }
}
