// Browsers start no worker for a page opened from the file system, and the theme's search is one. There, a hidden frame
// runs the script instead: it hears what the page posts, and what it posts is heard by the page.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.documentElement.append(frame);
      this.inside = frame.contentWindow;
      const home = new URL(url, location);
      const load = (address) =>
        new Promise((loaded, failed) => {
          const script = this.inside.document.createElement("script");
          Object.assign(script, { src: new URL(address, home), onload: loaded, onerror: failed });
          this.inside.document.documentElement.append(script);
        });
      this.inside.importScripts = (...addresses) => Promise.all(addresses.map(load));
      this.inside.postMessage = (data) => this.hear(this, data, MessageEvent);
      this.ready = load(home);
    }
    hear(target, data, Event) {
      const event = new Event("message", { data });
      target.dispatchEvent(event);
      if (target.onmessage) target.onmessage(event);
    }
    postMessage(data) {
      this.ready.then(() => this.hear(this.inside, data, this.inside.MessageEvent));
    }
    terminate() {
      this.inside.frameElement.remove();
    }
  };
}
