/** The gallery: published figures, their measurements here, and the figure that is being run. */
import { create } from "zustand";
import { errorText, onPush, request } from "../connection";
import type { Gallery } from "../protocol";

interface State extends Gallery {
  isRead: boolean;
  error: string;
}

export const useGallery = create<State>(() => ({ figures: [], running: "", progress: "", isRead: false, error: "" }));

export async function readGallery(): Promise<void> {
  try {
    const response = await request("api/gallery");
    useGallery.setState({ ...((await response.json()) as Gallery), isRead: true, error: "" });
  } catch (error) {
    useGallery.setState({ error: errorText(error) });
  }
}

onPush("gallery", ({ running, progress }) => {
  const { running: before, isRead } = useGallery.getState();
  useGallery.setState({ running, progress });
  // A run that has ended may have written a result.
  if (before !== "" && running === "" && isRead) void readGallery();
});
