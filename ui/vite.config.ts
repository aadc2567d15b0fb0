/// <reference types="vitest/config" />
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// `./dev ui` runs this; the Python server serves what it leaves. With `npx vite` (port 5173) the page
// reloads as files change, and talks to a `wanlab web --port 8642` that runs beside it.
export default defineConfig({
  plugins: [react()],
  base: "/",
  build: {
    outDir: "../src/wanlab/web/static",
    emptyOutDir: true,
    target: "es2022",
    // The page may load nothing but files of its own (its content security policy): no data: URLs.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 900,
  },
  server: { proxy: { "/api": { target: "http://127.0.0.1:8642", ws: true } } },
  test: { include: ["src/**/*.test.ts"], isolate: false },
});
