import { useEffect, useRef, type ReactNode } from "react";
import { Icon } from "../editor/icons";

interface Props {
  title: string;
  onClose: () => void;
  children: ReactNode;
  /** Buttons at the bottom. */
  buttons?: ReactNode;
  size?: "small" | "medium" | "large";
}

/** A dialog over the window: the browser keeps the focus in it, and closes it by Escape. */
export function Dialog({ title, onClose, children, buttons, size = "medium" }: Props) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = box.current;
    const focused = document.activeElement as HTMLElement | null;
    dialog?.showModal();
    // The browser would take the button that closes it.
    if (document.activeElement?.closest(".dialog-head") != null) {
      dialog?.querySelector<HTMLElement>(".dialog-body input, .dialog-body select, .button-first")?.focus();
    }
    return () => {
      dialog?.close();
      focused?.focus({ preventScroll: true });
    };
  }, []);
  return (
    <dialog
      ref={box}
      className={`dialog dialog-${size}`}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onPointerDown={(event) => event.target === box.current && onClose()}
    >
      <div className="dialog-box">
        <header className="dialog-head">
          <h2>{title}</h2>
          <button type="button" className="icon-button" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        </header>
        <div className="dialog-body">{children}</div>
        {buttons !== undefined && <footer className="dialog-buttons">{buttons}</footer>}
      </div>
    </dialog>
  );
}
