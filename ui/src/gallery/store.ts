/** The gallery: published figures, their measurements here, and the figure that is being run. */
import { create } from "zustand";
import { onPush } from "../connection";
import type { Gallery } from "../protocol";

interface State extends Gallery {
  isRead: boolean;
  error: string;
}

export const useGallery = create<State>(() => ({ figures: [], running: "", progress: "", isRead: false, error: "" }));

export async function readGallery(): Promise<void> {
  try {
    const response = await fetch("/api/gallery", { cache: "no-store" });
    if (!response.ok) throw new Error(((await response.json()) as { what: string }).what);
    useGallery.setState({ ...((await response.json()) as Gallery), isRead: true, error: "" });
  } catch (error) {
    useGallery.setState({ error: error instanceof Error ? error.message : String(error) });
  }
}

onPush("gallery", ({ running, progress }) => {
  const { running: before, isRead } = useGallery.getState();
  useGallery.setState({ running, progress });
  // A run that has ended may have written a result.
  if (before !== "" && running === "" && isRead) void readGallery();
});
