
/* On a page without a kernel: show each figure of this kind that nobody has started, on a stand-in for the widget's model. */
kit.start = (name, render) => {
  class Model {
    constructor(state) {
      this.state = state;
      this.listeners = new Map();
    }
    get(key) {
      return this.state[key];
    }
    set(key, value) {
      if (JSON.stringify(this.state[key]) === JSON.stringify(value)) return;
      this.state[key] = value;
      for (const event of [`change:${key}`, "change"]) for (const call of [...(this.listeners.get(event) ?? [])]) call();
    }
    on(events, call) {
      for (const event of events.split(" ")) this.listeners.set(event, [...(this.listeners.get(event) ?? []), call]);
    }
    off(events, call) {
      for (const event of events.split(" ")) {
        this.listeners.set(event, (this.listeners.get(event) ?? []).filter((other) => call && other !== call));
      }
    }
    save_changes() {}
  }

  for (const box of document.querySelectorAll(`[data-live="${name}"]:not([data-alive])`)) {
    box.dataset.alive = "";
    const still = [...box.childNodes];
    render({ model: new Model(JSON.parse(box.dataset.state)), el: box, page: true });
    for (const node of still) node.remove();
  }
};
