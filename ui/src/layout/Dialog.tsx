import { useEffect, useRef, type ReactNode } from "react";
import { Icon } from "../editor/icons";

interface Props {
  title: string;
  onClose: () => void;
  children: ReactNode;
  /** The buttons at the bottom. */
  buttons?: ReactNode;
  size?: "small" | "medium" | "large";
}

/** A modal dialog. The browser keeps the focus inside, and Escape closes it. */
export function Dialog({ title, onClose, children, buttons, size = "medium" }: Props) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = box.current;
    const focused = document.activeElement as HTMLElement | null;
    dialog?.showModal();
    // Otherwise the browser would focus the button that closes the dialog.
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
        <div className="dialog-head">
          <h2>{title}</h2>
          <button type="button" className="icon-button" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        </div>
        <div className="dialog-body">{children}</div>
        {buttons !== undefined && <div className="dialog-buttons">{buttons}</div>}
      </div>
    </dialog>
  );
}
