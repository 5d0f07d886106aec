/** 中文。 English is the key. */

export default {
  "Use {name}": "使用 {name}",
};
