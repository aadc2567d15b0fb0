/** The dialog that is open, and questions to the user. */
import { create } from "zustand";
import type { ImportedFile } from "../protocol";

export type DialogName =
  "open" | "save" | "preferences" | "keys" | "about" | "capture" | "generate" | "imported" | "gallery" | "what-if";

export interface Question {
  title: string;
  text: string;
  answers: readonly { id: string; title: string; isDangerous?: boolean }[];
}

interface Dialogs {
  shown: DialogName | null;
  /** The parts of another program's topology that have no counterpart. */
  imported: ImportedFile | null;
  question: (Question & { answer: (id: string | null) => void }) | null;
}

export const useDialogs = create<Dialogs>(() => ({ shown: null, imported: null, question: null }));

export function showDialog(shown: DialogName): void {
  useDialogs.setState({ shown });
}

export function closeDialog(): void {
  useDialogs.setState({ shown: null });
}

/** Close a dialog, unless another one has taken its place. */
export function closeIfShown(name: DialogName): void {
  if (useDialogs.getState().shown === name) closeDialog();
}

export function showImportNotes(imported: ImportedFile): void {
  useDialogs.setState({ shown: "imported", imported });
}

/** Ask the user; resolves to the id of the answer, or null if the dialog was closed. */
export function ask(question: Question): Promise<string | null> {
  return new Promise((done) => {
    const answer = (id: string | null) => {
      useDialogs.setState({ question: null });
      done(id);
    };
    useDialogs.setState({ question: { ...question, answer } });
  });
}
