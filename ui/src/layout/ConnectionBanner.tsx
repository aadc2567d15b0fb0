import { useEffect } from "react";
import { useConnection } from "../connection";
import { useDocument } from "../stores/document";
import { isAnythingUp } from "../stores/running";

/** Says that the server is not there, until it is there again. */
export function ConnectionBanner() {
  const status = useConnection((state) => state.status);
  useEffect(() => {
    window.addEventListener("beforeunload", askBeforeLeaving);
    return () => window.removeEventListener("beforeunload", askBeforeLeaving);
  }, []);
  if (status === "lost") {
    return (
      <p className="connection-banner" role="alert">
        The connection to wanlab is lost; it is being looked for. Nothing that was saved is lost.
      </p>
    );
  }
  if (status === "refused") {
    return (
      <p className="connection-banner" role="alert">
        wanlab has been started anew and does not know this page: open the address that it printed.
      </p>
    );
  }
  return null;
}

/** The browser asks in its own words. */
function askBeforeLeaving(event: BeforeUnloadEvent): void {
  if (useConnection.getState().status !== "open") return;
  if (isAnythingUp() || !useDocument.getState().isSaved) event.preventDefault();
}
