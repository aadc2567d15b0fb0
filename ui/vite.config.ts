/// <reference types="vitest/config" />
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

/** The font's licence must come with it. */
const fontLicence: Plugin = {
  name: "font-licence",
  async generateBundle() {
    const source = await this.fs.readFile("node_modules/@fontsource-variable/inter/LICENSE");
    this.emitFile({ type: "asset", fileName: "assets/inter-LICENSE.txt", source });
  },
};

// `./dev ui` runs this, and the Python server serves the result. With `npx vite` (port 5173) the page
// reloads when files change, and uses a running `wanlab web --port 8642`.
export default defineConfig({
  plugins: [react(), fontLicence],
  // The server may be below any path, so pages and scripts find each other by relative ones.
  base: "./",
  build: {
    outDir: "../src/wanlab/web/static",
    emptyOutDir: true,
    // The laboratory, and the teacher's page of a class.
    rollupOptions: { input: ["index.html", "class.html"] },
    target: "es2022",
    // The content security policy allows only files of our own, no data: URLs for scripts and styles.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 900,
  },
  server: { proxy: { "/api": { target: "http://127.0.0.1:8642", ws: true } } },
  test: { include: ["src/**/*.test.ts"] },
});
