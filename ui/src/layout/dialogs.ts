/** Which dialog is open, and questions that have to be answered before it goes on. */
import { create } from "zustand";

export type DialogName = "open" | "save" | "preferences" | "keys" | "about";

export interface Question {
  title: string;
  text: string;
  answers: readonly { id: string; title: string; isDangerous?: boolean }[];
}

interface Dialogs {
  shown: DialogName | null;
  question: (Question & { answer: (id: string | null) => void }) | null;
}

export const useDialogs = create<Dialogs>(() => ({ shown: null, question: null }));

export function showDialog(shown: DialogName): void {
  useDialogs.setState({ shown });
}

export function closeDialog(): void {
  useDialogs.setState({ shown: null });
}

/** The id of the answer; null if the question was put away. */
export function ask(question: Question): Promise<string | null> {
  return new Promise((done) => {
    const answer = (id: string | null) => {
      useDialogs.setState({ question: null });
      done(id);
    };
    useDialogs.setState({ question: { ...question, answer } });
  });
}
