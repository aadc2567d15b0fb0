import { useEffect } from "react";
import { useConnection } from "../connection";
import { useDocument } from "../stores/document";
import { useLessons } from "../stores/lessons";
import { hasNetwork } from "../stores/running";

/** Shown while the server cannot be reached. */
export function ConnectionBanner() {
  const status = useConnection((state) => state.status);
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
  if (status === "refused") {
    return (
      <p className="connection-banner" role="alert">
        {isClass
          ? "This browser no longer has access to the class. Open the link that your teacher gave you."
          : "wanlab has been restarted. Open the address that it printed to continue."}
      </p>
    );
  }
  return null;
}

/** Ask before leaving; the browser words the question. */
function askBeforeLeaving(event: BeforeUnloadEvent): void {
  if (useConnection.getState().status !== "open") return;
  if (hasNetwork() || !useDocument.getState().isSaved) event.preventDefault();
}
