/** The font size of all terminals, kept in this browser. */
import { create } from "zustand";
import { persist } from "zustand/middleware";

const DEFAULT_SIZE = 13;
const [MIN_SIZE, MAX_SIZE] = [8, 32];

interface Font {
  size: number;
  /** Set the size; without one, the default. */
  set: (size?: number) => void;
}

export const useTerminalFont = create<Font>()(
  persist(
    (set): Font => ({
      size: DEFAULT_SIZE,
      set: (size = DEFAULT_SIZE) => set({ size: Math.min(Math.max(size, MIN_SIZE), MAX_SIZE) }),
    }),
    { name: "wanlab.terminal-font", partialize: ({ size }) => ({ size }) },
  ),
);
