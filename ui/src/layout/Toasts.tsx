import { closeToast, useToasts } from "../stores/toasts";

/** Messages in the corner, announced by screen readers. */
export function Toasts() {
  const toasts = useToasts((state) => state.toasts);
  return (
    <div className="toasts" role="region" aria-label="Messages" aria-live="polite">
      {toasts.map(({ id, level, what, hint }) => (
        <div key={id} className={`toast toast-${level}`} role={level === "error" ? "alert" : "status"}>
          <div>
            <p className="toast-what">{what}</p>
            {hint !== "" && <p className="toast-hint">{hint}</p>}
          </div>
          <button type="button" className="icon-button" aria-label="Close" onClick={() => closeToast(id)}>
            ✕
          </button>
        </div>
      ))}
    </div>
  );
}
