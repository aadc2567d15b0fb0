import { perform } from "../connection";
import { useDraft } from "../stores/notices";
import { when } from "./folder";

/** Offers to restore work that was not saved when the last server ended. */
export function DraftNotice() {
  const { draft } = useDraft();
  if (draft === null) return null;
  const answer = (take: boolean) => void perform({ do: "draft", take });
  return (
    <div className="draft-notice" role="alert">
      <span>
        <strong>{draft.name}</strong> was not saved when wanlab ended ({draft.nodes}{" "}
        {draft.nodes === 1 ? "node" : "nodes"}, last edit {when(draft.saved_at_s)}). Restore it?
      </span>
      <button type="button" className="button button-first" onClick={() => answer(true)}>
        Restore
      </button>
      <button type="button" className="button" onClick={() => answer(false)}>
        Discard
      </button>
    </div>
  );
}
