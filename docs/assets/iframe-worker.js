/* Search runs in a worker, which browsers refuse to pages opened as files. A hidden frame replaces it. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.documentElement.appendChild(frame);
      this.inside = frame.contentWindow;
      this.ready = new Promise((resolve) => {
        window.addEventListener("message", (event) => {
          if (event.source !== this.inside) return;
          const message = new MessageEvent("message", { data: event.data });
          this.dispatchEvent(message);
          if (this.onmessage) this.onmessage(message);
        });
        const page = this.inside.document;
        page.open();
        page.write(
          "<script>var postMessage = parent.postMessage.bind(parent);" +
            "var importScripts = (...urls) => urls.reduce((done, url) => done.then(() => new Promise((resolve) => {" +
            "const script = document.createElement('script'); script.src = url; script.onload = resolve;" +
            "document.head.appendChild(script); })), Promise.resolve());</" + "script>" +
            "<script src='" + url + "'></" + "script>",
        );
        page.close();
        this.inside.addEventListener("load", resolve);
      });
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {}
  };
}
