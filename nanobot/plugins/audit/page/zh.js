/** 中文。 English is the key. */

export default {
  "What attackers could reach": "攻击者可触及的内容",
};
