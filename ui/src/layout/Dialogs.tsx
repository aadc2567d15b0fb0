import { lazy, Suspense } from "react";
import { useConnection } from "../connection";
import { NetworkForm } from "../inspector/NetworkForm";
import { GenerateDialog } from "../files/GenerateDialog";
import { ImportDialog } from "../files/ImportDialog";
import { OpenDialog, SaveDialog } from "../files/FileDialogs";
import { CaptureDialog } from "../packets/CaptureDialog";
import { WhatIfDialog } from "../whatif/WhatIfDialog";
import { Dialog } from "./Dialog";
import { closeDialog, useDialogs } from "./dialogs";
import { KeyList } from "./KeyList";

/** With its library for Markdown, it is loaded when it is first opened. */
const GalleryDialog = lazy(() => import("../gallery/GalleryDialog"));

/** The dialog that is open, if any. */
export function Dialogs() {
  const { shown, question } = useDialogs();
  return (
    <>
      {shown === "open" && <OpenDialog />}
      {shown === "save" && <SaveDialog />}
      {shown === "preferences" && (
        <Dialog
          title="Preferences"
          onClose={closeDialog}
          buttons={
            <button type="button" className="button button-first" onClick={closeDialog}>
              Done
            </button>
          }
        >
          <NetworkForm isDialog />
        </Dialog>
      )}
      {shown === "keys" && (
        <Dialog title="Keyboard shortcuts" size="large" onClose={closeDialog}>
          <KeyList />
        </Dialog>
      )}
      {shown === "about" && <About />}
      {shown === "capture" && <CaptureDialog />}
      {shown === "what-if" && <WhatIfDialog />}
      {shown === "generate" && <GenerateDialog />}
      {shown === "gallery" && (
        <Suspense>
          <GalleryDialog />
        </Suspense>
      )}
      {shown === "imported" && <ImportDialog />}
      {question !== null && (
        <Dialog
          title={question.title}
          size="small"
          onClose={() => question.answer(null)}
          buttons={question.answers.map(({ id, title, isDangerous }, index) => (
            <button
              key={id}
              type="button"
              autoFocus={index === 0}
              className={`button ${index === 0 ? "button-first" : ""} ${isDangerous ? "button-dangerous" : ""}`}
              onClick={() => question.answer(id)}
            >
              {title}
            </button>
          ))}
        >
          <p className="dialog-text">{question.text}</p>
        </Dialog>
      )}
    </>
  );
}

function About() {
  const { version, folder } = useConnection();
  return (
    <Dialog title="About wanlab" size="small" onClose={closeDialog}>
      <p className="dialog-text">A network laboratory with its own Linux kernel and its own clock.</p>
      <dl className="facts">
        <dt>Version</dt>
        <dd>{version}</dd>
        <dt>Working folder</dt>
        <dd>{folder}</dd>
        <dt>Licence</dt>
        <dd>Apache 2.0</dd>
      </dl>
    </Dialog>
  );
}
