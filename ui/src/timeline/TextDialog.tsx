import { useState, type FormEvent } from "react";
import { Dialog } from "../layout/Dialog";

interface Props {
  title: string;
  label: string;
  initial?: string;
  onClose: () => void;
  /** Returns whether the text was accepted. */
  onEnter: (text: string) => Promise<boolean>;
}

/** Ask for one line of text. */
export function TextDialog({ title, label, initial = "", onClose, onEnter }: Props) {
  const [text, setText] = useState(initial);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (await onEnter(text)) onClose();
  };
  return (
    <Dialog title={title} size="small" onClose={onClose}>
      <form className="text-form" onSubmit={(event) => void submit(event)}>
        <label>
          {label}
          <input autoFocus value={text} maxLength={200} onChange={(event) => setText(event.target.value)} />
        </label>
        <button type="submit" className="button button-first" disabled={text.trim() === ""}>
          OK
        </button>
      </form>
    </Dialog>
  );
}
