import { useEffect } from "react";
import { LOOKS, useConnection } from "../connection";
import { useDocument } from "../stores/document";
import { useLessons } from "../stores/lessons";
import { hasNetwork } from "../stores/running";

/** Shown while the server cannot be reached. */
export function ConnectionBanner() {
  const status = useConnection((state) => state.status);
  const folder = useConnection((state) => state.folder);
  const isLookedAt = useLessons((state) => state.is_looked_at);
  const isClass = useLessons((state) => state.is_class);
  useEffect(() => {
    window.addEventListener("beforeunload", askBeforeLeaving);
    return () => window.removeEventListener("beforeunload", askBeforeLeaving);
  }, []);
  if (status === "lost" || status === "silent") {
    return (
      <p className="connection-banner" role="alert">
        {status === "lost"
          ? "The connection to wanlab is lost. Trying to reconnect; saved work is safe."
          : "wanlab does not answer. What you type is sent once it does."}
      </p>
    );
  }
  if (status === "signed out") {
    return (
      <p className="connection-banner" role="alert">
        You are signed out. Reload this page to sign in again; saved work is safe.
      </p>
    );
  }
  if (status === "refused") {
    return (
      <p className="connection-banner" role="alert">
        {isClass
          ? "This browser no longer has access to the class. Open the link that your teacher gave you."
          : "wanlab has been restarted. Open the address that it printed to continue."}
      </p>
    );
  }
  if (LOOKS) {
    return (
      <p className="connection-banner looking-banner" role="status">
        You are viewing the laboratory of {folder}. Only the student can change it.
      </p>
    );
  }
  if (isLookedAt) {
    return (
      <p className="connection-banner looking-banner" role="status">
        Your teacher is viewing your laboratory.
      </p>
    );
  }
  return null;
}

/** Ask before leaving; the browser words the question. */
function askBeforeLeaving(event: BeforeUnloadEvent): void {
  if (useConnection.getState().status !== "open" || LOOKS) return;
  if (hasNetwork() || !useDocument.getState().isSaved) event.preventDefault();
}
