/** How large the terminals' letters are: one size for all, kept in this browser. */
import { create } from "zustand";
import { persist } from "zustand/middleware";

const USUAL = 13;
const [SMALLEST, LARGEST] = [8, 32];

interface Font {
  size: number;
  /** Without a size, the usual one. */
  set: (size?: number) => void;
}

export const useTerminalFont = create<Font>()(
  persist(
    (set): Font => ({
      size: USUAL,
      set: (size = USUAL) => set({ size: Math.min(Math.max(size, SMALLEST), LARGEST) }),
    }),
    { name: "wanlab.terminal-font", partialize: ({ size }) => ({ size }) },
  ),
);
