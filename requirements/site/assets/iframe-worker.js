// Browsers start no workers for pages opened from files. There, an invisible frame runs the script
// of the search in the place of a worker: it has a worker's postMessage and importScripts.
if (location.protocol === "file:") {
  const load = (frame, url) =>
    new Promise((done, failed) => {
      const script = frame.document.createElement("script");
      script.src = url;
      script.onload = done;
      script.onerror = failed;
      frame.document.body.append(script);
    });

  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      this.element = document.createElement("iframe");
      this.element.hidden = true;
      document.body.append(this.element);
      const frame = this.element.contentWindow;
      frame.postMessage = (data) => this.answer(data);
      frame.importScripts = (...urls) =>
        urls.reduce((before, each) => before.then(() => load(frame, each)), Promise.resolve());
      this.ready = load(frame, url);
    }

    answer(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      this.onmessage?.(event);
    }

    postMessage(data) {
      this.ready.then(() => {
        const frame = this.element.contentWindow;
        frame.dispatchEvent(new frame.MessageEvent("message", { data }));
      });
    }

    terminate() {
      this.element.remove();
    }
  };
}
